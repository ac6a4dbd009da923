import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { HookContext, Params } from '../../src/transport/index.ts'
import { redactUrl } from '../../src/transport/logging/redact.ts'
import { Gate } from '../support/gate.ts'
import { growthOf, LINEAR_GROWTH } from '../support/growth.ts'
import { startServer } from '../support/http.ts'

const lines: string[] = []
let writes = 0
const garbage = new Gate()
const stream = { write: (line: string) => void lines.push(line) }

const server = await startServer(t, 'standalone', {
  fastify: { logger: { level: 'info', stream } },
  services(app) {
    app.use('echo', {
      find: async () => [],
      get: async (id: string) => ({ id }),
      create: async (data: unknown) => data,
    })
    app.use('seen', {
      create: async (_data: unknown, params: Params) => ({
        user: params.user ?? null,
        authentication: params.authentication ?? null,
      }),
    })
    const write = async (): Promise<number> => (writes += 1)
    const read = async (): Promise<object> => ({})
    app.use('writes', { find: read, get: read, create: write, patch: write, remove: write })
    app.use('parts', { find: async () => Readable.from(sendParts()) })
    app.use('moved', { create: async (data: unknown) => data })
    app.service('moved').hooks({ after: { create: [moveToText] } })
    app.use('broken', { get: async (id: string) => Promise.reject(toThrown(id)) })
  },
})

/** A stream that is half sent when something else happens. */
async function* sendParts() {
  yield 'first '
  await garbage.pass()
  yield 'second'
}

/** A hook that puts what a client sent where headers are. */
/** Cuts what a client sent, as programs do that count in units of UTF-16. */
function moveToText({ http, data }: HookContext): void {
  http.location = (data as { to: string }).to.slice(0, 3)
}

const THROWN: Readonly<Record<string, () => unknown>> = {
  'no prototype': () => Object.create(null),
  'no text': () => ({ toString: null, valueOf: null }),
  'a message that is no text': () => Object.assign(new TypeError('x'), { message: { a: 1 } }),
  'a stack that is no text': () => Object.assign(new TypeError('x'), { stack: null }),
  'a cause that is itself': () => {
    const error = new TypeError('x')
    return Object.assign(error, { cause: error })
  },
  'toJSON that throws': () =>
    Object.assign(new Error('x'), {
      type: 'FeathersError',
      toJSON() {
        throw new Error('inner')
      },
    }),
  'a getter that throws': () =>
    Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('inner')
      },
    }),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
}

function toThrown(id: string): unknown {
  return THROWN[id]?.()
}

for (const title of Object.keys(THROWN)) {
  t.test(`an error with ${title} is answered with 500 and logged (FST-11)`, async (t) => {
    lines.length = 0
    const { status, body } = await server.request(`/broken/${encodeURIComponent(title)}`)
    t.match({ status, body }, { status: 500, body: { name: 'GeneralError' } })
    t.ok(lines.some((line) => line.includes('"level":50')))
  })
}

t.test('other sites can send no JSON: plain text and multipart are refused (FST-3)', async (t) => {
  for (const type of [
    'text/plain',
    'text/plain;application/json',
    'multipart/form-data; boundary=x',
  ]) {
    const headers = { 'content-type': type, origin: 'http://other.test', cookie: 'token=x' }
    const { status } = await server.request('/echo', { method: 'POST', headers, body: '{"a":1}' })
    t.equal(status, 415, type)
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie: 'token=x' }
  const { body } = await server.request('/seen', { method: 'POST', headers, body: 'a=1' })
  t.strictSame(body, { user: null, authentication: null }, 'a cookie proves nothing')
})

t.test('GET and HEAD write nothing (CSRF-3)', async (t) => {
  for (const path of [
    '/writes?_method=DELETE',
    '/writes/1?_method=PATCH',
    '/writes?method=create',
  ]) {
    for (const method of ['GET', 'HEAD']) {
      const headers = { 'x-service-method': 'create', 'x-http-method-override': 'DELETE' }
      t.equal((await server.request(path, { method, headers })).status, 200)
    }
  }
  t.equal(writes, 0)
})

t.test('a method that objects inherit is no method of HTTP (FST-7)', async (t) => {
  for (const method of ['constructor', '__proto__', 'hasOwnProperty', 'toString', 'CONSTRUCTOR']) {
    const answer = await server.raw(`${method} /echo HTTP/1.1\r\nHost: test\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 400 /, method)
  }
})

t.test('nothing is kept for each value that a client sends (FST-9)', async (t) => {
  const collect = toCollector()
  const rounds = 1_000
  const requests: readonly ((index: number) => object)[] = [
    (index) => ({ headers: { accept: `application/json;v=${index}, */*;v=${index}` } }),
    (index) => ({
      headers: { 'accept-encoding': `gzip;q=0.${index}`, origin: `http://${index}.test` },
    }),
    (index) => ({ method: 'POST', payload: {}, headers: { 'x-service-method': `m${index}` } }),
    (index) => ({ method: 'POST', payload: 'x', headers: { 'content-type': `a/b${index}` } }),
    (index) => ({ url: `/echo/${index}?a${index}[b${index}]=1` }),
    (index) => ({ url: `/nothing/at/${index}` }),
  ]
  for (const toRequest of requests) {
    const send = async (from: number): Promise<number> => {
      for (let index = from; index < from + rounds; index += 1) {
        await server.fastify.inject({ url: '/echo', ...toRequest(index) })
      }
      lines.length = 0
      return collect()
    }
    const before = await send(0)
    const growth = (await send(rounds)) - before
    t.ok(growth < 5_000_000, `${toRequest} grew by ${growth} bytes`)
  }
})

t.test('thousands of numeric keys that collide hold nobody up (FST-18)', async (t) => {
  const prepare = (count: number) => {
    const keys = Array.from({ length: count }, (_, index) => (index * 8_192) % 4_294_967_295)
    const body = JSON.stringify(Object.fromEntries(keys.map((key) => [key, 1])))
    const options = { method: 'POST', headers: { 'content-type': 'application/json' } }
    return () => server.request('/echo', { ...options, body })
  }
  t.equal((await prepare(64_000)()).status, 400)
  const growth = await growthOf(prepare, 4_000)
  t.ok(growth < LINEAR_GROWTH, `16 times as many cost ${growth} times as much`)
})

t.test('bytes behind a request do not end up inside its answer (HTTP-1)', async (t) => {
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    server.fastify.server.once('clientError', () => garbage.open())
    let text = ''
    socket.on('data', (chunk) => {
      if (text === '') socket.write('GARBAGE\r\n\r\n')
      text += String(chunk)
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
    socket.write('GET /parts HTTP/1.1\r\nHost: test\r\n\r\n')
  })
  t.equal(answer.match(/HTTP\/1\.1/g)?.length, 1)
  t.match(answer, /^HTTP\/1\.1 200 /)
})

t.test('a request may name the whole URL (HTTP-4)', async (t) => {
  server.app.use('late', { find: async () => ['late'] })
  for (const path of ['/echo', '/echo/1', '/late', '/late?a=b']) {
    const direct = await server.request(path)
    const end = 'HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n'
    for (const origin of ['http://test', 'HTTPS://test:8080']) {
      const answer = await server.raw(`GET ${origin}${path} ${end}`)
      t.ok(answer.startsWith('HTTP/1.1 200 '), `${origin}${path}`)
      t.ok(answer.endsWith(direct.text))
    }
  }
})

t.test('half of a character in a location does no harm (HTTP-10)', async (t) => {
  const { status, headers } = await server.request('/moved', { data: { to: '/a😀' } })
  t.strictSame([status, headers.location], [303, '/a%EF%BF%BD'])
})

t.test('however a secret stands in a URL, it is not logged (LOG-1)', async (t) => {
  lines.length = 0
  for (const query of [
    ...[
      'access_token=hunter2',
      'access%5Ftoken=hunter2',
      'accessToken=hunter2',
      'a=b&code=hunter2',
    ],
    ...['refresh_token=hunter2', 'user[password]=hunter2', 'user%5Bpassword%5D=hunter2'],
    ...['api_key=hunter2', '%70assword=hunter2', 'client_secret=hunter2', 'PASSWORD=hunter2'],
  ]) {
    await server.request(`/echo?${query}`)
    const { text } = await server.request(`/nothing/at/all?${query}`)
    t.notMatch(text, /hunter2/)
  }
  t.ok(lines.length > 10)
  t.notMatch(lines.join(''), /hunter2/)
  t.equal(redactUrl('/echo?zipcode=1&a=1'), '/echo?zipcode=1&a=1')
})

function toCollector(): () => Promise<number> {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  return async () => {
    // What is weakly held is let go of in a later turn.
    for (const _round of [1, 2, 3]) {
      collectGarbage()
      await new Promise(setImmediate)
    }
    return process.memoryUsage().heapUsed
  }
}
