import type { AddressInfo } from 'node:net'
import fastifyCors from '@fastify/cors'
import fastify from 'fastify'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate } from '../../../src/auth/index.ts'
import { findStreams } from '../../../src/transport/finds/request-streams.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { cors, createApp, fastifyApp, remex, rest } from '../../../src/transport/index.ts'
import type { EventHub } from '../../../src/transport/realtime/event-hub.ts'
import type { RealtimeOptions } from '../../../src/transport/realtime/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import { forge, now } from '../../auth/login-app.ts'
import { addAccounts, bearer } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import type { EventFrames } from '../../support/event-frames.ts'
import { openFrames } from '../../support/event-frames.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { startServer } from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty, commandsOf } = await openDatabase(t)
const Model = db.collection('tasks')
const NEVER_MS = 2 ** 31 - 1
const MEGABYTE = 'm'.repeat(2 ** 20)

t.beforeEach(() => empty('tasks'))

async function openMany(count: number, open: () => Promise<EventFrames>): Promise<EventFrames[]> {
  const streams = await Promise.all(Array.from({ length: count }, open))
  await Promise.all(streams.map((stream) => stream.next()))
  return streams
}

/** Opens an application that a test closes itself. */
async function openApp(t: TestScope, path: string, options: RealtimeOptions) {
  const app = fastifyApp(createApp(), { closeTimeoutMs: NEVER_MS, writeTimeoutMs: 0 })
  t.teardown(() => app.close())
  app.configure(rest()).configure(realtime({ maxStreamsPerCaller: 1_000, ...options }))
  app.use(path, new MongoDBService({ Model }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.fastify.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/${path}`
  return { app, hub: findStreams(app) as EventHub, url, open: () => openFrames(t, url) }
}

t.test('a server that closes ends 300 streams, and says so', async (t) => {
  const { app, hub, open } = await openApp(t, 'a', {})
  const streams = await openMany(300, open)
  t.equal(hub.size, 300)
  await app.close()
  const ends = await Promise.all(streams.map((stream) => stream.rest()))
  const expected = Array(300).fill([{ event: 'end', id: undefined, data: { reason: 'closing' } }])
  t.strictSame(ends, expected)
  t.equal(hub.size, 0)
})

t.test('a server that closes tells each stream of a connection, and ends it', async (t) => {
  const { app, hub, url } = await openApp(t, 'a', {})
  const list = ['1', '2', '3'].map((id) => ({ id, url: '/a' }))
  const shared = await openFrames(
    t,
    new URL('/live-queries', url).href,
    {},
    { subscriptions: list },
  )
  await until(() => shared.frames.length === 6)
  await app.close()
  await shared.rest()
  const ends = shared.frames.slice(6).map(({ event, data }) => [event, data.reason])
  t.strictSame(ends.sort(), [
    ['1/end', 'closing'],
    ['2/end', 'closing'],
    ['3/end', 'closing'],
  ])
  t.equal(hub.size, 0)
})

t.test('a server that closes waits for no reader that does not read', async (t) => {
  const { app, hub, open } = await openApp(t, 'a', { maxWaitingBytes: 2 ** 30 })
  const [stream] = await openMany(1, open)
  stream?.pause()
  const records = Array.from({ length: 12 }, () => ({ text: MEGABYTE }))
  await Promise.all(records.map((one) => app.service('a').create(one as never)))
  await app.close()
  t.equal(hub.size, 0)
})

t.test('an expired stream whose reader does not read costs nothing', async (t) => {
  const server = await startLiveServer(
    t,
    async (app) => {
      const accounts = addAccounts(app)
      app.use('a', new MongoDBService({ Model }))
      app.service('a').hooks({ before: { find: [authenticate('jwt')] } })
      await accounts.addUser({ id: 1, email: 'ann@example.org' })
    },
    { realtime: { maxWaitingBytes: 2 ** 30 } },
  )
  const exp = now() + 2
  const stream = await server.open('/a', bearer(await forge({ claims: { exp } })))
  await stream.next()
  stream.pause()
  const service = server.app.service('a')
  const records = Array.from({ length: 12 }, () => ({ text: MEGABYTE }))
  await Promise.all(records.map((one) => service.create(one as never)))
  await until(() => now() > exp)
  const commands = await commandsOf(async () => {
    await service.create({ name: 'late' } as never)
    await until(() => server.hub.size === 0)
  })
  const finds = commands.filter(({ find }) => find !== undefined)
  t.ok(finds.length <= 2, `${finds.length} times`)
})

t.test('a service that is taken away ends its streams, and no others', async (t) => {
  const server = await startLiveServer(t, (app) => {
    app.use('a', new MongoDBService({ Model }))
    app.use('b', new MongoDBService({ Model }))
  })
  const [gone, stays] = [await server.open('/a'), await server.open('/b')]
  await Promise.all([gone.next(), stays.next()])
  await server.app.unuse('a')
  t.match(await gone.next(), { event: 'end', data: { reason: 'closing' } })
  t.strictSame(await gone.rest(), [])
  t.strictSame(await linesSoFar(stays, server.app.service('b')), [])
})

t.test('the time limit of calls ends no open stream, but a find that takes too long', async (t) => {
  const gate = new Gate()
  let waits = false
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('a', new MongoDBService({ Model }))
      app.service('a').hooks({
        before: {
          find: [
            async () => {
              if (waits) await gate.pass()
            },
          ],
        },
      })
    },
    { handlerTimeoutMs: 500, realtime: { heartbeatMs: 20 } },
  )
  const stream = await server.open('/a')
  await stream.next()
  waits = true
  const refused = { status: 503, body: { name: 'Unavailable', message: 'No answer within 500 ms' } }
  t.match(await server.refusal('/a'), refused)
  t.match(await server.refusal('/a'), refused)
  waits = false
  gate.open()
  await until(() => server.hub.size === 1)
  const { comments } = stream
  await until(() => stream.comments > comments + 3)
  t.strictSame(await linesSoFar(stream, server.app.service('a')), [])
  t.equal(server.logged.filter(({ message }) => /stream/i.test(`${message}`)).length, 0)
})

t.test('as a plugin of a host: with its CORS headers, and ended when it closes', async (t) => {
  const app = createApp().configure(realtime())
  app.use('a', new MongoDBService({ Model }))
  const host = fastify()
  t.teardown(() => host.close())
  host.register(fastifyCors, { origin: 'https://app.test', credentials: true })
  host.register(remex, { app, prefix: '/api' })
  await host.listen({ port: 0, host: '127.0.0.1' })
  const { port } = host.server.address() as AddressInfo
  const stream = await openFrames(t, `http://127.0.0.1:${port}/api/a`, {
    origin: 'https://app.test',
  })
  await stream.next()
  t.match(stream.headers, {
    'access-control-allow-origin': 'https://app.test',
    'access-control-allow-credentials': 'true',
  })
  t.strictSame(await linesSoFar(stream, app.service('a')), [])
  const shared = await openFrames(
    t,
    `http://127.0.0.1:${port}/api/live-queries`,
    { origin: 'https://app.test' },
    { subscriptions: [{ id: '1', url: '/a' }] },
  )
  t.match(shared.headers, {
    'access-control-allow-origin': 'https://app.test',
    'access-control-allow-credentials': 'true',
  })
  await shared.upTo(({ event }) => event === '1/snapshot')
  await host.close()
  t.match(await stream.rest(), [{ event: 'end', data: { reason: 'closing' } }])
  t.match(await shared.rest(), [{ event: '1/end', data: { reason: 'closing' } }])
})

t.test('cors() lets a page of another origin open a stream, and come back to it', async (t) => {
  const server = await startServer(t, 'standalone', {
    services: (app) => {
      const own = app as FastifyApplication
      own.configure(cors({ origin: 'https://app.test' })).configure(realtime())
      own.use('a', new MongoDBService({ Model }))
    },
  })
  const preflight = await server.request('/a', {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.test',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization,last-event-id',
    },
  })
  t.match(preflight.headers['access-control-allow-headers'], /last-event-id/i)
  const stream = await openFrames(t, `${server.url}/a`, { origin: 'https://app.test' })
  t.match(stream.headers, { 'access-control-allow-origin': 'https://app.test' })
})

t.test('500 clients that leave at once leave no listener, no timer and no socket', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    realtime: { maxStreamsPerCaller: 1_000, bufferMs: 1 },
  })
  const service = server.app.service('a')
  const countListeners = (): number =>
    ['created', 'updated', 'patched', 'removed', 'changed'].reduce(
      (sum, name) => sum + (service.listenerCount?.(name) ?? 0),
      0,
    )
  const countConnections = (): Promise<number> =>
    new Promise((resolve) => server.fastify.server.getConnections((_error, n) => resolve(n)))
  const countTimers = (): number =>
    process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate/.test(name)).length
  t.equal(countListeners(), 0, 'nobody listens before the first stream')
  const timers = countTimers()
  const streams = await openMany(500, () => server.open('/a'))
  t.equal(countListeners(), 5, 'once for all streams')
  const writing = Promise.all(['a', 'b', 'c'].map((name) => service.create({ name } as never)))
  await Promise.all(streams.map((stream) => stream.close()))
  await writing
  await until(async () => (await countConnections()) === 0)
  await until(() => server.hub.size === 0 && countListeners() === 0)
  await until(() => countTimers() <= timers + 1)
  t.pass('all is as it was')
})

t.test('a topic is not closed under a stream that is being opened', async (t) => {
  const gate = new Gate()
  let waits = true
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('a', new MongoDBService({ Model }))
      app
        .service('a')
        .hooks({ before: { find: [() => (waits ? gate.pass() : undefined) as never] } })
      app.use('b', new MongoDBService({ Model: db.collection('b') }))
    },
    { realtime: { bufferMs: 1, heartbeatMs: 10 } },
  )
  const opening = server.open('/a')
  await gate.arrivals(1)
  const other = await server.open('/b')
  await until(() => other.comments >= 5)
  waits = false
  gate.open()
  const stream = await opening
  t.equal((await stream.next()).event, 'snapshot')
  await server.app.service('a').create({ name: 'heard' } as never)
  t.equal((await stream.next()).data.name, 'heard')
})

t.test('the stream of a service that is taken away while it is opened ends', async (t) => {
  const gate = new Gate()
  const server = await startLiveServer(t, (app) => {
    app.use('a', new MongoDBService({ Model }))
    app.service('a').hooks({ after: { find: [() => gate.pass() as never] } })
  })
  const opening = server.open('/a')
  await gate.arrivals(1)
  await server.app.unuse('a')
  gate.open()
  const stream = await opening
  t.strictSame(
    (await stream.rest()).map(({ event }) => event),
    ['snapshot', 'end'],
  )
})

t.test('what happens while the database is away is told when it is back', async (t) => {
  const embedded = await startEmbeddedMongo({ allowProduction: true })
  t.teardown(() => embedded.close())
  const client = new MongoClient(embedded.url)
  t.teardown(() => client.close())
  const collection = client.db('a').collection('tasks')
  let failures = 0
  let fails = false
  const Model = new Proxy(collection, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'find' && fails) {
          failures += 1
          throw new Error('The database is away')
        }
        return value.apply(target, args)
      }
    },
  })
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    realtime: { heartbeatMs: 20 },
  })
  const stream = await server.open('/a')
  await stream.next()
  fails = true
  await server.app.service('a').create({ name: 'late' } as never)
  await until(() => failures >= 3)
  t.equal(stream.frames.length, 1)
  fails = false
  t.match(await stream.next(), { event: 'created', data: { name: 'late' } })
  t.ok(server.logged.some(({ message }) => /could not be sent/.test(`${message}`)))
})
