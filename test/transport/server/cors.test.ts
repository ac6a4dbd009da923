import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { METHODS as VERBS } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib'
import type { FastifyCompressOptions } from '@fastify/compress'
import t from 'tap'
import type { Configurator, FastifyApplication } from '../../../src/transport/index.ts'
import {
  compress,
  cors,
  createApp,
  errorHandler,
  fastifyApp,
  json,
  rest,
  serveStatic,
} from '../../../src/transport/index.ts'
import { MODES, startServer } from '../../support/http.ts'
import { openApp, startOwnServer } from '../../support/own-server.ts'

const ORIGIN = 'https://app.test'
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const HEADERS =
  'Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Service-Method'

const notes = {
  find: async () => Array.from({ length: 200 }, (_, id) => ({ id, text: 'the same again' })),
  get: async (id: string) => ({ id }),
  create: async (data: object) => data,
}

t.test('without cors() no answer allows an origin (COR-1)', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('notes', notes))
  for (const method of ['GET', 'OPTIONS', 'POST', 'DELETE']) {
    const { headers } = await server.request('/notes', { method, headers: { origin: ORIGIN } })
    const names = Object.keys(headers).filter((name) => name.startsWith('access-control'))
    t.strictSame(names, [], method)
  }
})

t.test('credentials for every origin are refused (COR-3)', (t) => {
  for (const origin of [undefined, '*', true] as const) {
    const options = origin === undefined ? {} : { origin }
    t.throws(() => cors({ ...options, credentials: true }), TypeError)
  }
  t.throws(() => cors({ origin: ['*', ORIGIN], credentials: true }), TypeError)
  t.ok(cors({ origin: [ORIGIN], credentials: true }))
  t.end()
})

t.test('credentials for every origin are refused, however that is said (COR-3)', async (t) => {
  for (const origin of [/.*/, /^https?:/, /./g, [['*']], [[true]], [/^https:\/\/a$/, /o*/], [1]]) {
    const options = { origin: origin as never, credentials: true }
    t.throws(() => cors(options), { name: 'TypeError', message: /every origin/ }, String(origin))
  }
  for (const origin of [/\.example\.com$/, [['https://a.example']], false, () => undefined]) {
    t.ok(cors({ origin: origin as never, credentials: true }), String(origin))
  }
})

t.test('a preflight allows our verbs and headers, and calls nothing (COR-4)', async (t) => {
  let calls = 0
  const server = await startOwnServer(t, (app) => {
    app.configure(cors({ origin: [ORIGIN] })).use('notes', notes)
    app.hooks({ before: { all: [() => void calls++] } })
  })
  for (const verb of ['DELETE', 'PATCH', 'PUT', 'POST']) {
    const { status, headers } = await server.request('/notes/1', {
      method: 'OPTIONS',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': verb,
        'access-control-request-headers': 'x-service-method,authorization,x-other',
      },
    })
    t.equal(status, 204)
    t.equal(headers['access-control-allow-origin'], ORIGIN)
    t.equal(headers['access-control-allow-methods'], METHODS)
    t.equal(headers['access-control-allow-headers'], HEADERS)
    t.match(headers.vary, /origin/i)
  }
  t.equal(calls, 0)
})

const skip = !VERBS.includes('QUERY')

t.test('a preflight allows QUERY where queries are taken as bodies', { skip }, async (t) => {
  const headers = { origin: ORIGIN, 'access-control-request-method': 'QUERY' }
  for (const [methods, queryBodies, expected] of [
    [undefined, true, `${METHODS}, QUERY`],
    [undefined, false, METHODS],
    ['GET', true, 'GET'],
  ] as const) {
    const configure = (app: FastifyApplication) =>
      app.configure(cors({ origin: [ORIGIN], ...(methods && { methods }) })).use('notes', notes)
    const server = await startOwnServer(t, configure, { queryBodies })
    const answer = await server.request('/notes', { method: 'OPTIONS', headers })
    t.equal(answer.headers['access-control-allow-methods'], expected)
  }
})

t.test('cors() allows no other origin, and leaves a plain OPTIONS to the service', async (t) => {
  const server = await startOwnServer(t, (app) =>
    app.configure(cors({ origin: [ORIGIN] })).use('notes', notes),
  )
  const other = await server.request('/notes', { headers: { origin: 'https://evil.test' } })
  t.equal(other.headers['access-control-allow-origin'], undefined)
  const plain = await server.request('/notes', { method: 'OPTIONS' })
  t.strictSame([plain.status, plain.headers.allow], [204, 'GET, HEAD, POST, OPTIONS'])
})

t.test('an OPTIONS of a browser that is no preflight is for the service too', async (t) => {
  const server = await startOwnServer(t, (app) =>
    app.configure(cors({ origin: [ORIGIN] })).use('notes', notes),
  )
  const headers = { origin: ORIGIN }
  const found = await server.request('/notes', { method: 'OPTIONS', headers })
  t.strictSame([found.status, found.headers.allow], [204, 'GET, HEAD, POST, OPTIONS'])
  t.equal(found.headers['access-control-allow-origin'], ORIGIN)
  const nowhere = await server.request('/no/where', { method: 'OPTIONS', headers })
  t.match(nowhere, { status: 404, body: { name: 'NotFound' } })
})

t.test('cors() and compress() are refused a second time, on one server', async (t) => {
  for (const [name, create] of Object.entries({ cors, compress })) {
    const app = openApp(t).configure(create())
    t.throws(() => app.configure(create()), { name: 'TypeError', message: `${name}() is` })
    const other = fastifyApp(createApp())
    t.doesNotThrow(() => other.configure(create()))
    for (const { fastify } of [app, other]) {
      await fastify.ready()
      await fastify.close()
    }
  }
})

const CONFIGURATORS: Readonly<Record<string, Configurator>> = {
  cors: cors({ origin: [ORIGIN] }),
  json: json({ maxDepth: 3 }),
  errorHandler: errorHandler({ html: false }),
  rest: rest(),
}

for (const names of [
  ['cors', 'json', 'errorHandler', 'rest'],
  ['rest', 'errorHandler', 'json', 'cors'],
  ['json', 'rest', 'cors', 'errorHandler'],
]) {
  t.test(`the order of configure() does not matter: ${names.join(', ')}`, async (t) => {
    const app = fastifyApp(createApp()).use('early', notes)
    for (const name of names) app.configure(CONFIGURATORS[name] as Configurator)
    app.use('notes', notes)
    const headers = { origin: ORIGIN, accept: 'text/html, */*;q=0.1' }
    for (const url of ['/early/1', '/notes/1', '/nowhere']) {
      const answer = await app.fastify.inject({ url, headers })
      t.equal(answer.headers['access-control-allow-origin'], ORIGIN, url)
      if (url === '/nowhere') t.match(answer.headers['content-type'], /json/)
    }
    const payload = { a: { b: { c: { d: 1 } } } }
    t.equal((await app.fastify.inject({ url: '/notes', method: 'POST', payload })).statusCode, 400)
  })
}

t.test('compress() compresses what is worth it, and nothing that must not be stored', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.configure(compress()).use('notes', notes).use('secret', notes)
    app.service('secret').hooks({
      after: {
        all: ({ http }) => {
          http.headers = { 'Cache-Control': 'private, no-store' }
        },
      },
    })
  })
  const headers = { 'accept-encoding': 'gzip' }
  const plain = await server.request('/notes')
  t.equal(plain.headers['content-encoding'], undefined)
  const response = await server.fastify.inject({ url: '/notes', headers })
  t.equal(response.headers['content-encoding'], 'gzip')
  t.match(response.headers.vary, /accept-encoding/i)
  t.equal(gunzipSync(response.rawPayload).toString(), plain.text)
  t.ok(response.rawPayload.length < plain.text.length / 5)
  const secret = await server.request('/secret', { headers })
  t.equal(secret.headers['content-encoding'], undefined, 'no-store (BRC-1)')
  t.equal(secret.text, plain.text)
  t.equal((await server.request('/notes/1', { headers })).headers['content-encoding'], undefined)
})

const PLAIN = JSON.stringify({ text: 'x'.repeat(50_000_000) })
const COMPRESSED: Readonly<Record<string, Buffer>> = {
  gzip: gzipSync(PLAIN),
  br: brotliCompressSync(PLAIN.slice(0, 1_000_000)),
  deflate: deflateSync(PLAIN),
  'gzip, gzip': gzipSync(gzipSync(PLAIN)),
  unknown: Buffer.from('{}'),
  GZIP: gzipSync('{}').subarray(0, 10),
}

for (const mode of MODES) {
  t.test(`refuses bodies with a content encoding, ${mode} (RES-8)`, async (t) => {
    const server = await startServer(t, mode, {
      services: (app) => app.use('notes', notes),
    })
    for (const [encoding, body] of Object.entries(COMPRESSED)) {
      for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
        const headers = { 'content-encoding': encoding, 'content-type': type }
        t.equal((await server.request('/notes', { body, headers })).status, 415, encoding)
      }
    }
    const headers = { 'content-encoding': 'identity' }
    t.equal((await server.request('/notes', { data: {}, headers })).status, 201)
    server.app.use('late', notes)
    const late = { data: {}, headers: { 'content-encoding': 'gzip' } }
    t.equal((await server.request('/late', late)).status, 415)
  })
}

t.test('refuses them too where answers are compressed, unless wanted (RES-8)', async (t) => {
  const body = gzipSync('{"a":1}')
  const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
  const strict = await startOwnServer(t, (app) => app.configure(compress()).use('notes', notes))
  t.equal((await strict.request('/notes', { body, headers })).status, 415)
  const unset = { globalDecompression: undefined } as unknown as FastifyCompressOptions
  const asStrict = await startOwnServer(t, (app) => {
    app.configure(compress(unset)).use('notes', notes)
  })
  t.equal((await asStrict.request('/notes', { body, headers })).status, 415)
  const lenient = await startOwnServer(t, (app) => {
    app.configure(compress({ globalDecompression: true })).use('notes', notes)
  })
  t.strictSame((await lenient.request('/notes', { body, headers })).body, { a: 1 })
  const bomb = COMPRESSED['gzip'] as Buffer
  t.equal((await lenient.request('/notes', { body: bomb, headers })).status, 413)
  t.equal((await lenient.request('/notes', { body: bomb.subarray(0, 99), headers })).status, 400)
})

t.test('serveStatic() serves files beside services, nothing outside of its folder', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'remex-static-'))
  t.teardown(() => rm(root, { recursive: true }))
  await writeFile(join(root, 'index.html'), '<h1>Hello</h1>')
  await writeFile(join(root, '.secret'), 'hidden')
  const server = await startOwnServer(t, (app) => {
    app.configure(serveStatic({ root, prefix: '/public/' })).use('notes', notes)
  })
  const page = await server.request('/public/index.html')
  t.match([page.status, page.headers['content-type'], page.text], [200, /html/, '<h1>Hello</h1>'])
  t.equal((await server.request('/notes/1')).status, 200)
  for (const path of ['/public/none.html', '/public/..%2f..%2fetc%2fpasswd', '/public/%2e%2e/a']) {
    const { status, text } = await server.request(path)
    t.ok(status === 404 || status === 403 || status === 400, `${path} ${status}`)
    t.notMatch(text, /root:/)
  }
})

t.test('files at the root and services do not hide each other', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'remex-static-'))
  t.teardown(() => rm(root, { recursive: true }))
  await writeFile(join(root, 'index.html'), '<h1>Hello</h1>')
  const server = await startOwnServer(t, (app) => {
    app.configure(serveStatic({ root })).use('notes', notes)
  })
  t.equal((await server.request('/')).text, '<h1>Hello</h1>')
  t.equal((await server.request('/notes/1')).status, 200)
  t.match((await server.request('/nowhere')).body, { code: 404, name: 'NotFound' })
  server.app.use('late', notes)
  t.equal((await server.request('/late/1')).status, 200)
})

t.test('several folders are served, each below its prefix', async (t) => {
  const [first, second] = [t.testdir({ 'a.txt': 'first' }), `${t.testdirName}/second`]
  await mkdir(second)
  await writeFile(join(second, 'b.txt'), 'second')
  const server = await startOwnServer(t, (app) => {
    app.configure(serveStatic({ root: first, prefix: '/a/' }))
    app.configure(serveStatic({ root: second, prefix: '/b/' }))
    app.fastify.get('/own', (_request, reply) => reply.sendFile('a.txt'))
  })
  t.equal((await server.request('/a/a.txt')).text, 'first')
  t.equal((await server.request('/b/b.txt')).text, 'second')
  t.equal((await server.request('/own')).text, 'first')
})

t.test('beside files at the root functions run once, whatever answers', async (t) => {
  const root = t.testdir({ 'a.txt': 'file' })
  const runs: string[] = []
  const server = await startOwnServer(t, (app) => {
    app.use(() => void runs.push('first')).configure(serveStatic({ root }))
    app.use('/notes', () => void runs.push('below')).use('notes', notes)
    app.use(() => void runs.push('last'))
  })
  server.app.use('late', notes)
  for (const [path, status, expected] of [
    ['/a.txt', 200, ['first', 'last']],
    ['/none.txt', 404, ['first', 'last']],
    ['/', 404, ['first', 'last']],
    ['/late/1', 200, ['first', 'last']],
    ['/notes/1', 200, ['first', 'below', 'last']],
    ['//notes/1', 404, ['first', 'below', 'last']],
    ['/notes/1//', 404, ['first', 'below', 'last']],
    ['//none', 404, ['first', 'last']],
    ['/..%2f//etc', 404, ['first', 'last']],
  ] as const) {
    t.equal((await server.request(path)).status, status, path)
    t.strictSame(runs.splice(0), expected, path)
  }
})
