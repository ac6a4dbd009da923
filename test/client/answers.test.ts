import { getEventListeners, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { ConnectionOptions } from '../../src/client/index.ts'
import type { AnyService } from '../../src/core/index.ts'
import {
  createApp,
  GeneralError,
  NotFound,
  ServiceError,
  Timeout,
  Unavailable,
} from '../../src/core/index.ts'
import { createCertificate } from '../support/certificate.ts'
import { holdTimers } from '../support/clock.ts'
import { Gate } from '../support/gate.ts'
import { checkPrototypes } from '../support/http.ts'
import { laterTurns } from '../support/until.ts'
import { findClosedPort } from './closed-port.ts'
import { CONNECTORS } from './connectors.ts'
import { errorOf } from './error-of.ts'
import { startOddServer } from './odd-server.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

/** Answers with a status and a body. */
const answer =
  (status: number, body: string, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    response.writeHead(status, headers).end(body)

const JSON_TYPE = { 'content-type': 'application/json' }
const HTML_TYPE = { 'content-type': 'text/html; charset=utf-8' }
const PAGE = '<!DOCTYPE html><title>Bad Gateway</title>'

t.afterEach(checkPrototypes)

for (const [library, connector] of Object.entries(CONNECTORS)) {
  const { connect, hasStreams, followsRedirects } = connector
  t.test(library, async (t) => {
    const getService = (url: string, options?: ConnectionOptions): AnyService =>
      createApp().configure(connect(url, options)).service('things')

    t.test('a success is JSON and all of it, or an error (CLI-4)', async (t) => {
      const bodies = ['{"a":', '[1,2', PAGE, '"half', 'undefined', '{"a":1}x']
      for (const body of bodies) {
        const { url } = await startOddServer(t, answer(200, body, JSON_TYPE))
        const error = { name: 'GeneralError', message: /^The server answered 200 with / }
        await t.rejects(getService(url).find(), { ...error, cause: SyntaxError }, body)
      }
    })

    t.test('every JSON value is a result', async (t) => {
      for (const body of ['0', 'false', '""', 'null', '[]', '{"__proto__":{"a":1}}']) {
        const { url } = await startOddServer(t, answer(200, body, HTML_TYPE))
        t.equal(JSON.stringify(await getService(url).find()), body)
      }
    })

    t.test('a success without a body is null', async (t) => {
      for (const status of [200, 201, 202, 204, 205]) {
        const { url } = await startOddServer(t, answer(status, ''))
        t.equal(await getService(url).remove(1), null)
        t.equal(await getService(url).create({}), null)
      }
    })

    t.test('an error of a service keeps all that the server said (CLI-5)', async (t) => {
      const body = { name: 'Conflict', message: 'm', code: 409, className: 'conflict', data: [1] }
      const json = JSON.stringify({ ...body, errors: { a: 'b' }, further: true })
      const { url } = await startOddServer(t, answer(409, json, { ...JSON_TYPE, 'x-a': 'b' }))
      const error = await errorOf(getService(url).create({}))
      t.ok(error instanceof ServiceError)
      t.match(error, { ...body, errors: { a: 'b' }, further: true })
      t.match(error.response, { status: 409, headers: { 'x-a': 'b' } })
      t.strictSame(JSON.parse(JSON.stringify(error)), { ...body, errors: { a: 'b' } })
    })

    t.test('an error of a service without body has the class of its status (CLI-5)', async (t) => {
      const bodies = [PAGE, '', 'text', '[]', '"a"', 'null', '{"error":"Not Found"}', '{"a":']
      for (const body of bodies) {
        const { url } = await startOddServer(t, answer(404, body, HTML_TYPE))
        const error = await errorOf(getService(url).get(1))
        t.ok(error instanceof NotFound, body)
        t.equal(error.response.status, 404)
      }
      const { url } = await startOddServer(t, answer(502, PAGE, HTML_TYPE))
      const message = 'The server answered 502 with text/html'
      await t.rejects(getService(url).find(), { name: 'BadGateway', message, code: 502 })
    })

    t.test('an error of another kind of server has its text (CLI-5)', async (t) => {
      const bodies: readonly [object, string][] = [
        [{ error: 'no such user' }, 'no such user'],
        [{ title: 'Not Found', detail: 'no user 7', status: 404 }, 'no user 7'],
        [{ title: 'Not Found', error: 'e' }, 'Not Found'],
        [{ message: ['m'], error: 'Not Found' }, 'Not Found'],
        [{ message: 'm', error: 'e' }, 'm'],
        [{ error: { a: 1 } }, 'The server answered 404 with application/json'],
      ]
      for (const [body, message] of bodies) {
        const { url } = await startOddServer(t, answer(404, JSON.stringify(body), JSON_TYPE))
        await t.rejects(getService(url).get(1), { name: 'NotFound', message, code: 404 })
      }
    })

    t.test('no server makes it look as if the caller had given up (CLI-5)', async (t) => {
      for (const name of ['AbortError', 'TimeoutError']) {
        const body = JSON.stringify({ name, message: 'm' })
        const { url } = await startOddServer(t, answer(404, body, JSON_TYPE))
        await t.rejects(getService(url).get(1), { name: 'NotFound', message: 'm' })
      }
    })

    t.test('an error tells the path without the values in it (CLI-6)', async (t) => {
      const { url } = await startOddServer(t, (request) => request.socket.destroy())
      const service = createApp().configure(connect(url)).service('reset/:token')
      const error = await errorOf(service.find({ route: { token: 'secret' } }))
      t.match(error.message, `No answer from GET ${url}/reset/:token`)
      t.notMatch(String(error.cause), /secret/)
    })

    t.test('every status from 400 to 599 is an error with this code (CLI-5)', async (t) => {
      for (const status of [400, 401, 408, 418, 429, 499, 500, 503, 504, 599]) {
        const { url } = await startOddServer(t, answer(status, ''))
        await t.rejects(getService(url).find(), { code: status })
        const foreign = JSON.stringify({ statusCode: status, code: 'FST_ERR', message: 'foreign' })
        const other = await startOddServer(t, answer(status, foreign, JSON_TYPE))
        await t.rejects(getService(other.url).find(), { code: status, message: 'foreign' })
      }
    })

    t.test('a hostile error body changes nothing but the error (CLI-5)', async (t) => {
      const bodies = [
        '{"__proto__":{"polluted":1},"message":"m"}',
        '{"constructor":{"prototype":{"polluted":1}},"name":"constructor"}',
        '{"name":"__proto__","code":"404","className":7,"toJSON":"x","stack":"s","cause":"c"}',
        '{"name":{"a":1},"message":["m"],"code":1e9,"response":"r"}',
      ]
      for (const body of bodies) {
        const { url } = await startOddServer(t, answer(400, body, JSON_TYPE))
        const error = await errorOf(getService(url).find())
        t.ok(error instanceof ServiceError, body)
        t.equal(error.code, 400)
        t.equal(typeof error.toJSON, 'function')
        t.not(error.cause, 'c')
        t.equal(error.response.status, 400)
      }
    })

    t.test('an error of 10 MB is no part of the error (CLI-5)', async (t) => {
      const body = JSON.stringify({ name: 'Conflict', message: 'm', data: 'x'.repeat(10_000_000) })
      const { url } = await startOddServer(t, answer(409, body, JSON_TYPE))
      await t.rejects(getService(url).find(), { name: 'Conflict', data: undefined, code: 409 })
    })

    t.test('sends nothing twice unless it is asked to, whatever is answered (CLI-1)', async (t) => {
      const { url, requests } = await startOddServer(t, answer(503, '', { 'retry-after': '1' }))
      const service = getService(url)
      const calls = [
        () => service.find(),
        () => service.get(1),
        () => service.create({}),
        () => service.patch(1, {}),
        () => service.remove(1),
      ]
      for (const call of calls) {
        const error = { name: 'Unavailable', response: { headers: { 'retry-after': '1' } } }
        await t.rejects(call(), error)
      }
      t.equal(requests.length, calls.length)
      await t.rejects(service.create({}, { connection: { retry: 3 } }), /'retry'/)
      t.throws(() => connect(url, { connection: { retry: 3 } }), /cannot hold 'retry'/)
      t.equal(requests.length, calls.length)
    })

    t.test('a refused connection is Unavailable, without what was sent (CLI-6)', async (t) => {
      const port = await findClosedPort()
      const call = getService(`http://127.0.0.1:${port}`).find({
        query: { token: 'secret' },
        headers: { authorization: 'secret' },
      })
      const error = await errorOf(call)
      t.ok(error instanceof Unavailable)
      t.equal(error.message, `No answer from GET http://127.0.0.1:${port}/things (ECONNREFUSED)`)
      const data = { code: 'ECONNREFUSED', address: '127.0.0.1', port }
      t.match(error, { code: 503, data, cause: Error })
      t.notMatch(JSON.stringify(error), /secret/)
      const removal = await errorOf(getService(`http://127.0.0.1:${port}`).remove('secret'))
      t.match(removal.message, /^No answer from DELETE /)
      t.notMatch(JSON.stringify(removal), /secret/)
    })

    t.test('says of a write whether it may have been done (CLI-6)', async (t) => {
      const { url } = await startOddServer(t, (request) => request.socket.destroy())
      const unknown = { name: 'Unavailable', errors: { outcome: 'unknown' } }
      await t.rejects(getService(url).create({}), unknown)
      await t.rejects(getService(url).remove(1), unknown)
      t.notOk('errors' in (await errorOf(getService(url).find())), 'a read changes nothing')
      const nobody = getService('http://nothing.invalid').create({})
      t.notOk('errors' in (await errorOf(nobody)), 'nothing was sent')
    })

    t.test('a host without an address is Unavailable (CLI-6)', async (t) => {
      const service = getService('http://nothing.invalid')
      await t.rejects(service.find(), { name: 'Unavailable', cause: Error })
    })

    t.test('a certificate that is not trusted is Unavailable (CLI-6)', async (t) => {
      const certificate = await createCertificate(t)
      if (certificate === null) {
        t.pass('there is no openssl here to make a certificate')
        return
      }
      const server = createSecureServer(certificate, (_request, response) => response.end('[]'))
      t.teardown(() => server.close())
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = server.address() as AddressInfo
      await t.rejects(getService(`https://127.0.0.1:${port}`).find(), {
        ...{ name: 'Unavailable', message: /DEPTH_ZERO_SELF_SIGNED_CERT/, cause: Error },
      })
    })

    t.test('a connection that ends within the body is Unavailable (CLI-6)', async (t) => {
      const { url } = await startOddServer(t, (request, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': '100' })
        response.write('{"a":1}', () => request.socket.destroy())
      })
      await t.rejects(getService(url).find(), { name: 'Unavailable', cause: Error })
      const { url: chunked } = await startOddServer(t, (request, response) => {
        response.writeHead(200, JSON_TYPE)
        response.write('{"a":1}', () => request.socket.destroy())
      })
      await t.rejects(getService(chunked).find(), { name: 'Unavailable', cause: Error })
    })

    t.test('no write is sent elsewhere (CLI-8)', async (t) => {
      const other = await startOddServer(t, answer(200, '[]', JSON_TYPE))
      for (const status of [301, 302, 303, 307, 308]) {
        const location = { location: `${other.url}/things` }
        const { url } = await startOddServer(t, answer(status, '', location))
        await t.rejects(getService(url).create({}), { message: /redirects this call/ })
      }
      t.strictSame(other.requests, [])
    })

    t.test('a token is not sent to another origin that a read is sent to (CLI-8)', async (t) => {
      const other = await startOddServer(t, answer(200, '[]', JSON_TYPE))
      const location = { location: `${other.url}/things` }
      const { url } = await startOddServer(t, answer(302, '', location))
      const headers = { authorization: 'Bearer x', cookie: 'a=b' }
      if (!followsRedirects) {
        await t.rejects(getService(url).find({ headers }), { message: /redirects this call/ })
        t.strictSame(other.requests, [])
        return
      }
      t.strictSame(await getService(url).find({ headers }), [])
      t.match(other.requests, [{ headers: { authorization: undefined, cookie: undefined } }])
    })

    const TIMEOUT_MS = 54_321

    t.test('an answer that takes too long is a Timeout, signal or not', async (t) => {
      const gate = new Gate()
      const { url } = await startOddServer(t, () => gate.pass())
      const timers = holdTimers(t, TIMEOUT_MS)
      const service = getService(url, { timeoutMs: TIMEOUT_MS })
      const signal = new AbortController().signal
      const calls = [service.find(), service.find({ connection: { signal } })]
      calls.push(getService(url).create({}, { connection: { timeoutMs: TIMEOUT_MS, signal } }))
      const errors = Promise.all(calls.map(errorOf))
      await gate.arrivals(3)
      timers.fire()
      const outcomes = (await errors).map((error) => error.errors)
      t.strictSame(outcomes, [undefined, undefined, { outcome: 'unknown' }])
      for (const error of await errors) {
        t.ok(error instanceof Timeout)
        t.match(error.message, /^No answer from \w+ http.*\/things within 54321 ms$/)
        t.match(error, {
          code: 408,
          data: { timeoutMs: TIMEOUT_MS },
          cause: { name: 'TimeoutError' },
        })
      }
    })

    t.test('a body that takes too long is a Timeout as well', async (t) => {
      const gate = new Gate()
      const { url } = await startOddServer(t, (_request, response) => {
        response.writeHead(200, JSON_TYPE)
        response.write('[', () => gate.pass())
      })
      const timers = holdTimers(t, TIMEOUT_MS)
      const call = getService(url, { timeoutMs: TIMEOUT_MS }).find()
      const error = errorOf(call)
      await gate.arrivals(1)
      timers.fire()
      t.ok((await error) instanceof Timeout)
    })

    t.test('leaves no timer and no listener behind', async (t) => {
      const timers = holdTimers(t, TIMEOUT_MS)
      const { url } = await startOddServer(t, answer(200, '[]', JSON_TYPE))
      const { signal } = new AbortController()
      let listeners = 0
      const add = signal.addEventListener.bind(signal)
      const remove = signal.removeEventListener.bind(signal)
      signal.addEventListener = (...values: Parameters<typeof add>) => {
        listeners += 1
        add(...values)
      }
      signal.removeEventListener = (...values: Parameters<typeof remove>) => {
        listeners -= 1
        remove(...values)
      }
      const service = getService(url, { timeoutMs: TIMEOUT_MS })
      await service.find({ connection: { signal } })
      await service.find({ connection: { signal, timeoutMs: Number.POSITIVE_INFINITY } })
      t.equal(timers.size, 0)
      t.equal(listeners, 0)
    })

    t.test('100 calls with one signal leave no listener behind, and warn of no leak', async (t) => {
      const warnings: string[] = []
      const warn = ({ name }: Error): unknown => warnings.push(name)
      process.on('warning', warn)
      t.teardown(() => process.off('warning', warn))
      const gate = new Gate()
      const { url } = await startOddServer(t, async (request, response) => {
        await gate.pass()
        answer(200, '[]', JSON_TYPE)(request, response)
      })
      const { signal } = new AbortController()
      const service = getService(url)
      const find = () => service.find({ connection: { signal } })
      const calls = Array.from({ length: 100 }, find)
      await gate.arrivals(1)
      gate.open()
      await Promise.all(calls)
      t.equal(getEventListeners(signal, 'abort').length, 0)
      await laterTurns()
      t.strictSame(warnings, [])
    })

    t.test('an abort on the way ends the call with its reason', async (t) => {
      const gate = new Gate()
      const { url } = await startOddServer(t, () => gate.pass())
      const reasons = [undefined, new GeneralError('own'), 'text']
      for (const [index, reason] of reasons.entries()) {
        const controller = new AbortController()
        const { signal } = controller
        const error = errorOf(getService(url).find({ connection: { signal } }))
        await gate.arrivals(index + 1)
        controller.abort(reason)
        if (reason instanceof Error) t.equal(await error, reason)
        else t.match(await error, { name: 'AbortError', ...(reason && { cause: reason }) })
      }
    })

    t.test('an abort ends a stream that was given out', async (t) => {
      if (!hasStreams) {
        t.pass('it gives out none')
        return
      }
      const { url } = await startOddServer(t, (_request, response) => {
        response.writeHead(200, JSON_TYPE)
        response.write('[')
      })
      const controller = new AbortController()
      const connection = { signal: controller.signal, responseType: 'stream' }
      const stream = (await getService(url).find({ connection })) as AsyncIterable<Uint8Array>
      const readAll = async (): Promise<void> => {
        for await (const chunk of stream) t.equal(String(chunk), String(Buffer.from('[')))
      }
      const reading = t.rejects(readAll())
      controller.abort()
      await reading
    })

    t.test('a URL without a host is named where no page has one', async (t) => {
      await t.rejects(getService('/api').find(), {
        ...{ name: 'TypeError', message: 'Outside of a browser, the base URL needs a host' },
      })
    })
  })
}
