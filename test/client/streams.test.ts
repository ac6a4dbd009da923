import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { ConnectionOptions } from '../../src/client/index.ts'
import { createApp, NotFound, Timeout } from '../../src/core/index.ts'
import { holdTimers } from '../support/clock.ts'
import { Gate } from '../support/gate.ts'
import { until } from '../support/until.ts'
import { CONNECTORS } from './connectors.ts'
import { errorOf } from './error-of.ts'
import { startOddServer } from './odd-server.ts'

type Stream = AsyncIterable<Uint8Array>

const TIMEOUT_MS = 54_321
const JSON_TYPE = { 'content-type': 'application/json' }

async function readAll(stream: Stream): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** A signal as polyfills and other realms have them. */
class OtherSignal extends EventTarget {
  aborted = false
  reason: unknown
  abort(): void {
    this.aborted = true
    this.reason = new Error('given up')
    this.dispatchEvent(new Event('abort'))
  }
}

function countListeners(signal: EventTarget): number {
  return getEventListeners(signal, 'abort').length
}

/** The libraries that give out bodies as streams; the others refuse to, see `suite/extensions`. */
const STREAMING = Object.entries(CONNECTORS).filter(([, { hasStreams }]) => hasStreams)

for (const [library, { connect }] of STREAMING) {
  t.test(library, async (t) => {
    const findStream = (url: string, connection: object = {}, options?: ConnectionOptions) =>
      createApp()
        .configure(connect(url, options))
        .service('things')
        .find({ connection: { responseType: 'stream', ...connection } }) as Promise<Stream>

    t.test('an error that never ends is a Timeout', async (t) => {
      const gate = new Gate()
      const { url } = await startOddServer(t, (_request, response) => {
        response.writeHead(500, JSON_TYPE)
        response.write('{"name":', () => gate.pass())
      })
      const timers = holdTimers(t, TIMEOUT_MS)
      const error = errorOf(findStream(url, { timeoutMs: TIMEOUT_MS }))
      await gate.arrivals(1)
      timers.fire()
      t.ok((await error) instanceof Timeout)
    })

    t.test('an error is read until it is too long for one', async (t) => {
      const responses: ServerResponse[] = []
      const { url } = await startOddServer(t, (_request, response) => {
        responses.push(response)
        response.writeHead(404, JSON_TYPE)
        const write = (): unknown =>
          response.write('x'.repeat(100_000), (error) => error ?? write())
        write()
      })
      const error = await errorOf(findStream(url))
      t.ok(error instanceof NotFound)
      t.equal(error.message, 'The server answered 404 with application/json')
      await until(() => responses[0]?.destroyed === true)
    })

    t.test('an error has what the server said', async (t) => {
      const body = JSON.stringify({ name: 'NotFound', message: 'gön', code: 404 })
      const { url } = await startOddServer(t, (_request, response) =>
        response.writeHead(404, JSON_TYPE).end(body),
      )
      t.match(await errorOf(findStream(url)), { name: 'NotFound', message: 'gön' })
    })

    t.test('leaves no listener behind, however a stream ends', async (t) => {
      const { url } = await startOddServer(t, (request, response) => {
        const status = Number(request.headers['x-status'])
        response.writeHead(status, JSON_TYPE).end(status === 204 ? '' : '[1]')
      })
      const { signal } = new AbortController()
      const find = (status: number) =>
        findStream(url, { signal, headers: { 'x-status': String(status) } })
      const count = (): number => getEventListeners(signal, 'abort').length
      t.equal(await readAll(await find(200)), '[1]')
      await until(() => count() === 0)
      for await (const chunk of await find(200)) {
        t.equal(String(Buffer.from(chunk)), '[1]')
        break
      }
      await until(() => count() === 0)
      await t.rejects(find(404), NotFound)
      t.equal(count(), 0)
      t.equal(await find(204), null)
      t.equal(count(), 0)
    })

    t.test('a stream that is read ends with its signal, whatever time it took', async (t) => {
      const { url } = await startOddServer(t, (_request, response) => {
        response.writeHead(200, JSON_TYPE)
        response.write('[')
      })
      const timers = holdTimers(t, TIMEOUT_MS)
      const controller = new AbortController()
      const connection = { signal: controller.signal, timeoutMs: TIMEOUT_MS }
      const stream = (await findStream(url, connection))[Symbol.asyncIterator]()
      t.equal(String(Buffer.from((await stream.next()).value)), '[')
      t.equal(timers.size, 0)
      const rest = stream.next()
      controller.abort()
      await t.rejects(rest)
      t.equal(getEventListeners(controller.signal, 'abort').length, 0)
    })

    t.test('a stream ends with a signal that is not of the platform', async (t) => {
      const { url } = await startOddServer(t, (request, response) => {
        response.writeHead(Number(request.headers['x-status'] ?? 200), JSON_TYPE)
        response.write('[')
        if (request.headers['x-status']) response.end()
      })
      const signal = new OtherSignal()
      const stream = (await findStream(url, { signal }))[Symbol.asyncIterator]()
      t.equal(String(Buffer.from((await stream.next()).value)), '[')
      const rest = stream.next()
      signal.abort()
      await t.rejects(rest)
      const unused = new OtherSignal()
      const failing = { signal: unused, headers: { 'x-status': '404' } }
      await t.rejects(findStream(url, failing), NotFound)
      t.strictSame([signal, unused].map(countListeners), [0, 0])
    })

    t.test('a stream whose connection ends fails, and leaves no listener behind', async (t) => {
      const responses: ServerResponse[] = []
      const { url } = await startOddServer(t, (_request, response) => {
        responses.push(response)
        response.writeHead(200, JSON_TYPE)
        response.write('[')
      })
      const { signal } = new AbortController()
      const stream = await findStream(url, { signal })
      const reading = t.rejects(readAll(stream))
      responses[0]?.destroy()
      await reading
      await until(() => getEventListeners(signal, 'abort').length === 0)
    })
  })
}
