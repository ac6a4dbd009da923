import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import t from 'tap'
import { rest } from '../../src/client/index.ts'
import { createApp, Unavailable } from '../../src/core/index.ts'
import { CONNECTORS } from './connectors.ts'
import { errorOf } from './error-of.ts'
import { startOddServer } from './odd-server.ts'

/** What servers do that libraries have errors of their own for. */
const FAILURES: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  'a redirect to no URL': (response) => response.writeHead(302, { location: 'http://[' }).end(),
  'a redirect to a file': (response) => response.writeHead(302, { location: 'file:///a' }).end(),
  'a redirect to itself': (response) =>
    response.writeHead(302, { location: '/things/secretId?b=secretQuery' }).end(),
  'no answer': (response) => response.destroy(),
  'what is not HTTP': (response) => response.socket?.end('X\r\n\r\n'),
  'a header that is too long': (response) =>
    response.writeHead(200, { a: 'b'.repeat(70_000) }).end('[]'),
  'a body that can not be decoded': (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('secret'),
}

for (const [library, { connect }] of Object.entries(CONNECTORS)) {
  t.test(library, async (t) => {
    for (const [title, answer] of Object.entries(FAILURES)) {
      t.test(`an error holds nothing of what was sent: ${title}`, async (t) => {
        const { url } = await startOddServer(t, (_request, response) => answer(response))
        const service = createApp().configure(connect(url)).service('things')
        const headers = { authorization: 'secretToken' }
        const call = service.get('secretId', { query: { a: "it's secretQuery" }, headers })
        const error = await errorOf(call)
        t.match(error, { name: /^(?:Unavailable|GeneralError)$/ })
        const all = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })
        // The answer itself may repeat what was asked for.
        t.notMatch(all.replaceAll(/location: .*/g, ''), /secret(?:Token|Query|Id)/)
      })
    }
  })
}

t.test('a cause keeps name, message, code and stack, and its own causes', async (t) => {
  const thrown = Object.assign(new RangeError('outer http://a/things?b=c'), { code: 'EOUTER' })
  thrown.cause = new AggregateError([Object.assign(new Error('inner'), { address: 'x' })], 'many')
  const send = (): Promise<never> => Promise.reject(thrown)
  const error = await errorOf(
    createApp().configure(rest('http://a').fetch(send)).service('b').find(),
  )
  t.ok(error instanceof Unavailable)
  t.match(error.cause, {
    ...{ name: 'RangeError', message: 'outer http://a/things', code: 'EOUTER' },
    stack: /error-causes\.test/,
    cause: { name: 'AggregateError', message: 'many', cause: { message: 'inner' } },
  })
})

t.test('what is thrown in circles, or is no error, is a cause as well', async (t) => {
  const circle = new Error('circle')
  circle.cause = circle
  for (const [thrown, message] of [
    [circle, 'circle'],
    ['text', 'text'],
    [{ message: 'object' }, 'object'],
  ]) {
    const send = (): Promise<never> => Promise.reject(thrown)
    const call = createApp().configure(rest('http://a').fetch(send)).service('b').find()
    t.match(await errorOf(call), { name: 'Unavailable', cause: { message } })
  }
})

t.test('a request that can not be sent is no request without an answer', async (t) => {
  const invalid = Object.assign(new Error('no'), { code: 'UND_ERR_INVALID_ARG' })
  const send = (): Promise<never> => Promise.reject(invalid)
  const app = createApp().configure(rest('http://a').fetch(send))
  await t.rejects(app.service('b').create({}), {
    ...{ name: 'TypeError', errors: undefined },
    message: 'POST http://a/b cannot be sent (UND_ERR_INVALID_ARG)',
  })
})

t.test('a write that a certificate has stopped was not sent, whatever is wrong', async (t) => {
  const codes = ['CERT_NOT_YET_VALID', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_HAS_EXPIRED']
  for (const code of [...codes, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'SELF_SIGNED_CERT_IN_CHAIN']) {
    const send = (): Promise<never> => Promise.reject(Object.assign(new Error('no'), { code }))
    const call = createApp().configure(rest('http://a').fetch(send)).service('b').create({})
    const error = await errorOf(call)
    t.match(error, { name: 'Unavailable', message: `No answer from POST http://a/b (${code})` })
    t.equal((error as Unavailable).errors, undefined)
  }
})
