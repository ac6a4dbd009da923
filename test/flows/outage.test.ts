import type { IncomingHttpHeaders } from 'node:http'
import { Agent, get } from 'node:http'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { MongoClientOptions } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import type { ListeningServer, TestScope } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'
import { startSlowProxy } from '../support/slow-proxy.ts'

/** Those of `docs/rest.md`, for a test to wait for: one second instead of three and ten. */
const CLIENT_OPTIONS: MongoClientOptions = {
  serverSelectionTimeoutMS: 1_000,
  connectTimeoutMS: 1_000,
  socketTimeoutMS: 1_000,
  waitQueueTimeoutMS: 1_000,
  maxPoolSize: 10,
  directConnection: true,
}

function createClient(t: TestScope, port: number, options: MongoClientOptions = {}): MongoClient {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}`, { ...CLIENT_OPTIONS, ...options })
  t.teardown(() => client.close())
  return client
}

/**
 * Connects as soon as the database is there. The driver alone tries once: an operation after an
 * attempt that failed finds the client closed, for good.
 */
async function connectUntilThere(client: MongoClient, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isThere = await client.connect().then(
      () => true,
      () => false,
    )
    if (isThere) return
    await delay(200)
  }
}

function startWith(t: TestScope, client: MongoClient): Promise<ListeningServer> {
  const Model = client.db('a').collection('people')
  return startOwnServer(t, (app) => app.use('people', new MongoDBService({ Model })))
}

/** Returns a port that nothing listens on. */
async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

t.test('START-1: starts without its database, says so, and works once it is there', async (t) => {
  const port = await findFreePort()
  const client = createClient(t, port)
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  void connectUntilThere(client, ending.signal)
  const server = await startWith(t, client)
  const from = performance.now()
  const [live, ready, found] = await Promise.all([
    server.request('/health/live'),
    server.request('/health/ready', { ownErrorBody: true }),
    server.request('/people'),
  ])
  t.strictSame([live.status, ready.status], [200, 503])
  t.match(found, { status: 503, body: { name: 'Unavailable' }, headers: { 'retry-after': '1' } })
  t.ok(performance.now() - from <= 3_500)
  const embedded = await startEmbeddedMongo({ port })
  t.teardown(() => embedded.close())
  const start = performance.now()
  while ((await server.request('/people')).status !== 200) await delay(20)
  t.ok(performance.now() - start <= 2_000)
  t.equal((await server.request('/health/ready')).status, 200)
})

t.test('START-2: what can not work is an error at once, not an attempt forever', async (t) => {
  t.throws(() => new MongoClient('not a URL'), /scheme/)
  const client = createClient(t, await findFreePort())
  const app = fastifyApp(createApp()).configure(rest())
  // For programs that are nothing without their database.
  app.hooks({
    setup: [
      async (_context, next) => {
        await client.connect()
        await next()
      },
    ],
  })
  const from = performance.now()
  await t.rejects(app.listen(0), { name: 'MongoServerSelectionError' })
  t.ok(performance.now() - from <= 5_000)
  t.notOk(app.server.listening)
})

t.test('a database that hangs answers 503 in time, for every method', async (t) => {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startSlowProxy(t, Number(new URL(embedded.url).port))
  const server = await startWith(t, createClient(t, proxy.port, { socketTimeoutMS: 500 }))
  t.equal((await server.request('/people')).status, 200)
  proxy.isHanging = true
  const id = '/people/64b7f0a1c2d3e4f5a6b7c8d9'
  const from = performance.now()
  const answers = await Promise.all([
    server.request('/people'),
    server.request(id),
    server.request('/people', { data: { name: 'a' } }),
    server.request(id, { method: 'PATCH', data: { name: 'a' } }),
    server.request(id, { method: 'DELETE' }),
  ])
  t.strictSame(
    answers.map(({ status }) => status),
    [503, 503, 503, 503, 503],
  )
  t.ok(performance.now() - from <= 3_500)
  t.ok(answers.every(({ headers }) => headers['retry-after'] === '1'))
  proxy.isHanging = false
  proxy.reset()
  const start = performance.now()
  while ((await server.request('/people')).status !== 200) await delay(20)
  t.ok(performance.now() - start <= 3_000)
})

interface Timed {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly ms: number
}

function timedGet(port: number, path: string, agent: Agent): Promise<Timed> {
  const from = performance.now()
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, agent })
    request.on('error', reject).on('response', ({ statusCode = 0, headers, ...response }) => {
      resolve({ status: statusCode, headers, ms: performance.now() - from })
      return response
    })
  })
}

t.test(
  'LOAD-1: more calls than a slow database can take are answered, or refused in time',
  async (t) => {
    const embedded = await startEmbeddedMongo()
    t.teardown(() => embedded.close())
    const proxy = await startSlowProxy(t, Number(new URL(embedded.url).port))
    const options = { waitQueueTimeoutMS: 400, socketTimeoutMS: 10_000 }
    const server = await startWith(t, createClient(t, proxy.port, options))
    await server.request('/people')
    proxy.delayMs = 200
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const memory = process.memoryUsage().rss
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => timedGet(server.port, '/people', agent)),
    )
    const served = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 503)
    t.equal(served.length + refused.length, 300)
    t.ok(served.length > 0 && refused.length > 0, `${served.length} served`)
    t.ok(refused.every(({ headers }) => headers['retry-after'] === '1'))
    const longest = Math.max(...answers.map(({ ms }) => ms))
    t.ok(longest <= 1_500, `the longest took ${longest} ms`)
    t.ok(process.memoryUsage().rss - memory < 100 * 2 ** 20)
    t.ok(server.logged.length <= 5, `LOG-4: ${server.logged.length} entries`)
    proxy.delayMs = 0
    t.equal((await server.request('/people')).status, 200)
  },
)

t.test('CRASH-1: a listener that fails changes no answer and is logged once', async (t) => {
  const server = await startOwnServer(t, (app) => {
    app.use('sync', { create: async (data: object) => data })
    app.use('async', { create: async (data: object) => data })
    app.service('sync').on('created', () => {
      throw new Error('listener')
    })
    app.service('async').on('created', async () => Promise.reject(new Error('listener')))
  })
  for (const path of ['/sync', '/async']) {
    t.match(await server.request(path, { data: { a: 1 } }), { status: 201, body: { a: 1 } })
    await delay(5)
  }
  t.equal(server.logged.length, 2)
  t.match(server.logged[0], { message: 'An event listener failed' })
})
