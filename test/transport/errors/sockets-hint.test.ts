import t from 'tap'
import type { ServerOptions } from '../../support/http.ts'
import { HOST, startServer } from '../../support/http.ts'

const POLLING = '/socket.io/?EIO=4&transport=polling&t=abc'

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
}

/** What clients of Socket.IO ask. */
const REQUESTS = [
  [POLLING, {}],
  [POLLING, { method: 'POST', body: '40', headers: { 'content-type': 'text/plain' } }],
  ['/socket.io/?EIO=4&transport=websocket', { headers: UPGRADE }],
  ['/socket.io/', {}],
] as const

const HINT = /npm install socket\.io, then app\.configure\(socketio\(\)\) of remex\/socketio/

t.test('a client of Socket.IO is told what is missing, and the log once', async (t) => {
  const server = await startServer(t, 'standalone')
  for (const [path, options] of [...REQUESTS, ...REQUESTS]) {
    const { status, body } = await server.request(path, options)
    t.equal(status, 404)
    t.match(body, { name: 'NotFound', code: 404, className: 'not-found', message: HINT })
  }
  t.match(server.logged, [{ message: HINT }])
  t.equal(server.logged.length, 1)
})

t.test('other unknown paths say nothing of it', async (t) => {
  const server = await startServer(t, 'standalone')
  for (const path of [
    '/socket.io',
    '/socket.iox/',
    '/socket',
    '/a/socket.io/',
    '/?/socket.io/',
    '/Socket.io',
  ]) {
    const { status, body } = await server.request(path)
    t.equal(status, 404, path)
    t.match(body, { message: 'Page not found' }, path)
    t.notMatch(body, { message: HINT }, path)
  }
  t.strictSame(server.logged, [])
})

t.test('a service or a route at this path answers', async (t) => {
  const rows: readonly ServerOptions[] = [
    { services: (app) => app.use('socket.io', { find: async () => ({ mine: true }) } as never) },
    { server: (server) => server.get('/socket.io/', async () => ({ mine: true })) },
  ]
  for (const options of rows) {
    const server = await startServer(t, 'standalone', options)
    const { status, body } = await server.request(POLLING)
    t.strictSame([status, body], [200, { mine: true }])
    t.strictSame(server.logged, [])
  }
})

t.test('the 404 of a host stays its own', async (t) => {
  const { fastify, logged } = await startServer(t, 'plugin')
  const answer = await fastify.inject(POLLING)
  t.strictSame([answer.statusCode, answer.json()], [404, HOST.notFound])
  t.strictSame(logged, [])
})
