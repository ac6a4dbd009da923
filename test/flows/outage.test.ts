import type { IncomingHttpHeaders } from 'node:http'
import { Agent, get } from 'node:http'
import type { MongoClientOptions } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { connectMongoDB, MongoDBService } from '../../src/adapter/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import { stopClock } from '../support/clock.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { ListeningServer, TestScope } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'
import { pluck } from '../support/pluck.ts'
import { createSocketPath } from '../support/socket-path.ts'
import { laterTurns, until } from '../support/until.ts'

/** For a test to wait for: one second instead of the driver's thirty and more. */
const CLIENT_OPTIONS: MongoClientOptions = {
  serverSelectionTimeoutMS: 1_000,
  connectTimeoutMS: 1_000,
  socketTimeoutMS: 1_000,
  waitQueueTimeoutMS: 1_000,
  maxPoolSize: 10,
  directConnection: true,
}

function createClient(t: TestScope, url: string, options: MongoClientOptions = {}): MongoClient {
  const client = new MongoClient(url, { ...CLIENT_OPTIONS, ...options })
  t.teardown(() => client.close())
  return client
}

/**
 * Connects as soon as the database is there. The driver alone tries once: an operation after an
 * attempt that failed finds the client closed, for good.
 */
async function connectUntilThere(client: MongoClient, signal?: AbortSignal): Promise<void> {
  const connect = (): Promise<boolean> =>
    client.connect().then(
      () => true,
      () => false,
    )
  await until(async () => signal?.aborted || (await connect()))
}

/** Whether requests reach the database. */
async function isServed(server: ListeningServer): Promise<boolean> {
  return (await server.request('/people')).status === 200
}

function startWith(t: TestScope, client: MongoClient): Promise<ListeningServer> {
  const Model = client.db('a').collection('people')
  return startOwnServer(t, (app) => app.use('people', new MongoDBService({ Model })))
}

t.test('starts without its database, says so, and works once it is there (START-1)', async (t) => {
  const { url, start } = createSocketPath(t)
  const client = createClient(t, url)
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  void connectUntilThere(client, ending.signal)
  const server = await startWith(t, client)
  const [live, ready, found] = await Promise.all([
    server.request('/health/live'),
    server.request('/health/ready', { ownErrorBody: true }),
    server.request('/people'),
  ])
  t.strictSame([live.status, ready.status], [200, 503])
  t.match(found, { status: 503, body: { name: 'Unavailable' }, headers: { 'retry-after': '1' } })
  await start()
  await until(() => isServed(server))
  const ask = () => server.request('/health/ready', { ownErrorBody: true })
  await until(async () => (await ask()).status === 200)
})

t.test('connects at the first need, and again after a failure (START-1)', async (t) => {
  const { url, start } = createSocketPath(t)
  const clients: MongoClient[] = []
  t.teardown(() => Promise.all(clients.map((client) => client.close())))
  // Twice as long each time: a busy machine may need more to connect.
  let limit = 50
  const Model = async () => {
    limit *= 2
    const client = await connectMongoDB(url, { serverSelectionTimeoutMS: limit })
    clients.push(client)
    return client.db('a').collection('people')
  }
  const server = await startOwnServer(t, (app) => app.use('people', new MongoDBService({ Model })))
  const found = await server.request('/people')
  t.match(found, { status: 503, body: { name: 'Unavailable' }, headers: { 'retry-after': '1' } })
  await start()
  await until(() => isServed(server))
  t.ok(await isServed(server))
  t.equal(clients.length, 1)
})

t.test('what can not work is an error, not an attempt forever (START-2)', async (t) => {
  t.throws(() => new MongoClient('not a URL'), /scheme/)
  const client = createClient(t, createSocketPath(t).url)
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
  await t.rejects(app.listen(0), { name: 'MongoServerSelectionError' })
  t.notOk(app.server.listening)
})

t.test('a database that hangs is answered with 503, for every method (DB-3)', async (t) => {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startFaultProxy(t, embedded.url)
  const client = await connectMongoDB(proxy.url)
  t.teardown(() => client.close())
  const server = await startWith(t, client)
  t.ok(await isServed(server))
  proxy.hold()
  const id = '/people/64b7f0a1c2d3e4f5a6b7c8d9'
  const answers = await Promise.all([
    server.request('/people'),
    server.request(id),
    server.request('/people', { data: { name: 'a' } }),
    server.request(id, { method: 'PATCH', data: { name: 'a' } }),
    server.request(id, { method: 'DELETE' }),
  ])
  t.strictSame(pluck(answers, 'status'), [503, 503, 503, 503, 503])
  t.ok(answers.every(({ headers }) => headers['retry-after'] === '1'))
  proxy.reset()
  proxy.release()
  await until(() => isServed(server))
  t.pass('works again')
})

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

function getBy(port: number, path: string, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, agent })
    request.on('error', reject).on('response', ({ statusCode = 0, headers, ...response }) => {
      resolve({ status: statusCode, headers })
      return response
    })
  })
}

t.test('more calls than a slow database can take are refused meanwhile (LOAD-1)', async (t) => {
  const clock = stopClock(t)
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const proxy = await startFaultProxy(t, embedded.url)
  const options = { minPoolSize: 10, heartbeatFrequencyMS: 600_000 }
  // What the database has begun ends when it answers, however long that takes.
  const client = createClient(t, proxy.url, { ...options, socketTimeoutMS: 0 })
  // Not how many have been opened: an attempt to connect that fails leaves some of those behind.
  const connections = new Set<unknown>()
  client.on('connectionPoolCreated', () => connections.clear())
  client.on('connectionReady', ({ connectionId }) => connections.add(connectionId))
  client.on('connectionClosed', ({ connectionId }) => connections.delete(connectionId))
  await connectUntilThere(client)
  const server = await startWith(t, client)
  // Else what is held when an assertion throws keeps the server and the client from closing.
  t.teardown(() => {
    proxy.reset()
    proxy.release()
  })
  await until(async () => (await isServed(server)) && connections.size === 10)
  proxy.hold()
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const memory = process.memoryUsage().rss
  const counts: Record<number, number> = { 200: 0, 503: 0 }
  let answered = 0
  const answers = Promise.all(
    Array.from({ length: 300 }, async () => {
      const answer = await getBy(server.port, '/people', agent)
      counts[answer.status] = (counts[answer.status] ?? 0) + 1
      answered += 1
      return answer
    }),
  )
  await until(() => answered >= 290, answers)
  const early = { 200: 0, 503: 290 }
  t.strictSame(counts, early, 'those who wait are refused before anybody is served')
  proxy.release()
  const refused = (await answers).filter(({ status }) => status === 503)
  t.strictSame(counts, { 200: 10, 503: 290 })
  t.ok(refused.every(({ headers }) => headers['retry-after'] === '1'))
  t.ok(process.memoryUsage().rss - memory < 100 * 2 ** 20)
  const outages = server.logged.filter(({ details }) => 'err' in details)
  t.equal(outages.length, 1, 'one entry as long as the clock stands still (LOG-4)')
  clock.advance(10_000)
  t.equal((await server.request('/people')).status, 200)
})

t.test('a listener that fails changes no answer and is logged once (CRASH-1)', async (t) => {
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
    await laterTurns()
  }
  t.equal(server.logged.length, 2)
  t.match(server.logged[0], { message: 'An event listener failed' })
})
