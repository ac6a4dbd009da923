import type { ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate } from '../../../src/auth/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { Forbidden } from '../../../src/core/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import { forge, now } from '../../auth/login-app.ts'
import { addAccounts, bearer } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import type { EventFrames, Frame } from '../../support/event-frames.ts'
import { askForFrames } from '../../support/event-frames.ts'
import { Gate } from '../../support/gate.ts'
import { laterTurns, until } from '../../support/until.ts'
import type { LiveServer, LiveServerOptions } from './live-server.ts'
import { startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const RED = { id: 'red', url: '/tasks?team=red' }
const BLUE = { id: 'blue', url: '/tasks?team=blue' }

t.beforeEach(() => empty('tasks'))

/** Starts a server with tasks. */
function start(t: Parameters<typeof startLiveServer>[0], options: LiveServerOptions = {}) {
  return startLiveServer(
    t,
    (app) => app.use('tasks', new MongoDBService({ Model, multi: true })),
    options,
  )
}

async function create(
  server: LiveServer,
  data: Readonly<Record<string, unknown>>,
): Promise<ObjectId> {
  const created = await server.app.service('tasks').create(data as never)
  return (created as unknown as { _id: ObjectId })._id
}

/** Resolves to the next frames, up to the one by which so many streams have had a snapshot, or have been refused. */
function toSnapshots(stream: EventFrames, count: number): Promise<Frame[]> {
  let left = count
  return stream.upTo(({ event }) => {
    if (/snapshot$|end$/.test(event)) left -= 1
    return left === 0
  })
}

/** Resolves to the names of the next frames, in any order of their streams. */
async function nextNames(stream: EventFrames, count: number): Promise<string[]> {
  const names: string[] = []
  while (names.length < count) names.push((await stream.next()).event)
  return names.sort()
}

/** Resolves to the ids of the last frames of each subscription. */
function placesOf({ frames }: EventFrames): Record<string, string> {
  const places: Record<string, string> = {}
  for (const { event, id } of frames) if (id !== undefined) places[event.split('/')[0] ?? ''] = id
  return places
}

t.test('one connection has the frames of several streams, each with its own ids', async (t) => {
  const server = await start(t)
  await create(server, { team: 'red', name: 'a' })
  const stream = await server.share([RED, BLUE])
  t.match(stream.headers, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-accel-buffering': 'no',
  })
  const frames = await toSnapshots(stream, 2)
  const ofRed = frames.filter(({ event }) => /^red/.test(event))
  t.match(ofRed, [
    { event: 'red/open', id: undefined, data: {} },
    { event: 'red/snapshot', data: [{ name: 'a' }] },
  ])
  t.equal(stream.retryMs, 2_000)
  t.equal(server.hub.size, 2)
  const _id = await create(server, { team: 'blue', name: 'b' })
  const created = await stream.next()
  t.match(created, { event: 'blue/created', data: { name: 'b' } })
  await server.app.service('tasks').patch(_id, { team: 'red' })
  t.strictSame(await nextNames(stream, 2), ['blue/left', 'red/patched'])
  const tokens = new Set(Object.values(placesOf(stream)).map((id) => id.split('.').at(-1)))
  t.equal(tokens.size, 2)
  await server.leave(stream)
  await until(() => server.hub.size === 0)
})

t.test('a rejected stream says why, and the others go on', async (t) => {
  const server = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    app.use('closed', new MongoDBService({ Model }))
    app.service('closed').hooks({
      before: {
        find: [
          () => {
            throw new Forbidden('Members only', { team: 'red' })
          },
        ],
      },
    })
    app.use('value', { find: async () => 7 } as never)
    app.use('settings', { find: async () => ({ secret: 1 }) } as never, { singleton: true })
    app.fastify.get('/page', () => ({ secret: 'page' }))
  })
  const urls = ['/closed', '/nothing', '/value', '/settings', '/tasks/1', '/page', '/tasks?$foo=1']
  const list = urls.map((url, index) => ({ id: `${index}`, url }))
  const stream = await server.share([...list, RED])
  const frames = await toSnapshots(stream, 8)
  const told = urls.map((_url, index) => frames.find(({ event }) => event === `${index}/end`)?.data)
  t.strictSame(
    told.map(({ reason, error }) => [reason, error.code]),
    [403, 404, 406, 406, 406, 404, 400].map((code) => ['refused', code]),
  )
  t.strictSame(told[0], {
    reason: 'refused',
    message: 'Members only',
    error: {
      name: 'Forbidden',
      message: 'Members only',
      code: 403,
      className: 'forbidden',
      data: { team: 'red' },
    },
  })
  t.notMatch(JSON.stringify(told), /secret/)
  t.strictSame((await server.refusal('/closed')).body, told[0].error, 'as a GET says')
  await create(server, { team: 'red', name: 'a' })
  t.match(await stream.next(), { event: 'red/created' })
})

t.test('a connection whose streams have all ended ends', async (t) => {
  const server = await start(t)
  const stream = await server.share([
    { id: '1', url: '/nothing' },
    { id: '2', url: '/tasks/7' },
  ])
  t.match(await stream.rest(), [{ event: '1/end' }, { event: '2/end' }])
})

t.test(
  'the next connection goes on where the last one was, and is not counted twice',
  async (t) => {
    const server = await start(t, { realtime: { maxStreamsPerCaller: 2 } })
    const gone = await create(server, { team: 'red', name: 'gone' })
    const first = await server.share([RED])
    await toSnapshots(first, 1)
    const { red: after } = placesOf(first)
    const second = await server.share([{ ...RED, after }, BLUE])
    t.strictSame(await nextNames(second, 3), ['blue/open', 'blue/snapshot', 'red/open'])
    t.equal(server.hub.size, 2)
    t.strictSame(await first.rest(), [], 'it ends without a word')
    await server.app.service('tasks').patch(gone, { team: 'green' })
    t.match(
      await second.next(),
      { event: 'red/left', data: { _id: `${gone}` } },
      'what it has sent',
    )
    const third = await server.share([RED, BLUE])
    const refused = await toSnapshots(third, 2)
    t.match(
      refused.filter(({ event }) => /end$/.test(event)).map(({ data }) => data.error),
      [{ code: 429 }, { code: 429 }],
      'others are counted',
    )
    await third.rest()
  },
)

t.test('a client goes back to where the next connection goes on from', async (t) => {
  const server = await start(t)
  const first = await server.share([RED])
  await toSnapshots(first, 1)
  const { red: after = '' } = placesOf(first)
  const _id = await create(server, { team: 'red', name: 'a' })
  t.match(await first.next(), { event: 'red/created' })
  await server.app.service('tasks').patch(_id, { team: 'blue' })
  t.match(await first.next(), { event: 'red/left' })
  // Sent before the client had these two: the last connection has been further than the next one.
  const second = await server.share([{ ...RED, after }])
  const { id = '' } = await second.next()
  const [place, next] = [after, id].map((one) => one.split('.').slice(0, -1).join('.'))
  t.equal(next, place)
  t.not(id, after, 'by another token')
  t.match(await second.next(), { event: 'red/left', data: { _id: `${_id}` } })
  const third = await server.share([{ ...RED, after: id }])
  t.match([await third.next(), await third.next()], [{ event: 'red/open' }, { event: 'red/left' }])
})

t.test('only the streams that the next connection names end', async (t) => {
  const server = await start(t)
  const first = await server.share([RED, BLUE])
  await toSnapshots(first, 2)
  const { red: after } = placesOf(first)
  const second = await server.share([{ ...RED, after }])
  await second.next()
  await create(server, { team: 'blue', name: 'b' })
  t.match(await first.upTo(({ event }) => event === 'blue/created'), { length: 1 })
  await create(server, { team: 'red', name: 'r' })
  t.match(await second.next(), { event: 'red/created' })
  t.notOk(first.hasEnded)
})

t.test('what was missed between two connections is sent by the next one', async (t) => {
  const server = await start(t)
  const first = await server.share([RED, BLUE])
  await toSnapshots(first, 2)
  const places = placesOf(first)
  await server.leave(first)
  await until(() => server.hub.size === 0)
  await create(server, { team: 'red', name: 'missed' })
  const list = [RED, BLUE].map((one) => ({ ...one, after: places[one.id] }))
  const second = await server.share(list)
  t.strictSame(await nextNames(second, 3), ['blue/open', 'red/created', 'red/open'])
  const third = await server.share([{ ...RED, after: 'unknown.0.0.0' }])
  const names = (await toSnapshots(third, 1)).map(({ event }) => event)
  t.strictSame(names, ['red/open', 'red/resync', 'red/snapshot'])
})

t.test('each stream has the credentials of the request, and ends with them', async (t) => {
  const server = await startLiveServer(t, async (app) => {
    const accounts = addAccounts(app)
    app.use('tasks', new MongoDBService({ Model }))
    app.service('tasks').hooks({
      before: {
        find: [
          authenticate('jwt'),
          ({ params }: HookContext) => {
            params.query = { ...params.query, owner: `${Object(params.user).id}` }
          },
        ],
      },
    })
    app.use('open', new MongoDBService({ Model }))
    await accounts.addUser({ id: 1, email: 'ann@example.org' })
  })
  await Model.insertMany([{ owner: '1' }, { owner: '2' }])
  const token = bearer(await forge({ claims: { exp: now() + 2 } }))
  const stream = await server.share(
    [
      { id: 'own', url: '/tasks' },
      { id: 'all', url: '/open' },
    ],
    token,
  )
  const frames = await stream.upTo(({ event }) => event === 'own/end')
  t.match(
    frames.find(({ event }) => event === 'own/snapshot'),
    { data: [{ owner: '1' }] },
  )
  t.strictSame(frames.at(-1)?.data, { reason: 'expired' })
  t.equal(server.hub.size, 1, 'the other one goes on')
  const without = await server.share([{ id: '1', url: '/tasks' }])
  t.match(await without.next(), { event: '1/end', data: { error: { code: 401 } } })
})

t.test('hooks of the server see each stream as the GET that it stands for', async (t) => {
  const seen: object[] = []
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', new MongoDBService({ Model }))
      app.fastify.addHook(
        'onRequest',
        async ({ method, url, headers, ip, protocol, host, raw }) => {
          seen.push({ method, url, headers, ip, protocol, host, hosts: raw.rawHeaders })
        },
      )
    },
    { fastify: { trustProxy: true } },
  )
  const headers = {
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-proto': 'https',
    'x-own': 'a',
    'accept-encoding': 'gzip',
    'last-event-id': 'of the outer request',
    'x-service-method': 'other',
    origin: 'https://app.example',
    cookie: 'a=b',
  }
  const stream = await server.share([RED, { ...BLUE, after: 'a.b.c' }], headers)
  await toSnapshots(stream, 2)
  const [outer, red, blue] = seen as Record<string, never>[]
  t.match(outer, { method: 'POST', url: '/live-queries' })
  t.match(red, { method: 'GET', url: RED.url, ip: '203.0.113.7', protocol: 'https' })
  t.equal(red?.['host'], outer?.['host'])
  const kept = {
    host: new URL(server.url).host,
    accept: 'text/event-stream',
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-proto': 'https',
    'x-own': 'a',
    origin: 'https://app.example',
    cookie: 'a=b',
  }
  t.strictSame({ ...(red?.['headers'] as unknown as object) }, kept)
  t.strictSame(
    { ...(blue?.['headers'] as unknown as object) },
    { ...kept, 'last-event-id': 'a.b.c' },
  )
})

t.test('the signal of a call ends with the client, not with another stream', async (t) => {
  const gate = new Gate()
  const reasons: string[] = []
  const server = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    app.use('slow', new MongoDBService({ Model }))
    app.service('slow').hooks({
      before: {
        find: [
          async ({ params }: HookContext) => {
            params.signal?.addEventListener('abort', ({ target }) => {
              reasons.push(`${(target as AbortSignal).reason.message}`)
            })
            await gate.pass()
          },
        ],
      },
    })
  })
  const stream = await server.share([
    { id: 'no', url: '/nothing' },
    { id: 'slow', url: '/slow' },
    RED,
  ])
  await gate.arrivals(1)
  await stream.upTo(({ event }) => event === 'red/snapshot')
  t.strictSame(reasons, [])
  await stream.close()
  await until(() => reasons.length === 1)
  t.strictSame(reasons, ['The client has gone'])
  gate.open()
})

t.test('a heartbeat is sent once for all streams of a connection', async (t) => {
  const server = await start(t, { realtime: { heartbeatMs: 20 } })
  const list = Array.from({ length: 10 }, (_, index) => ({ id: `${index}`, url: '/tasks' }))
  const [shared, own] = [await server.share(list), await server.open('/tasks')]
  await toSnapshots(shared, 10)
  const before = { shared: shared.comments, own: own.comments }
  await until(() => own.comments - before.own >= 5)
  t.ok(shared.comments - before.shared <= 7, 'ten streams would send fifty')
  await until(() => shared.comments > before.shared)
})

t.test('twenty large snapshots come to a slow reader', async (t) => {
  const server = await start(t, { realtime: { maxWaitingBytes: 1_000 } })
  await Model.insertMany([{ text: 'm'.repeat(2 ** 20) }])
  const list = Array.from({ length: 20 }, (_, index) => ({ id: `${index}`, url: '/tasks' }))
  const stream = await server.share(list)
  stream.pause()
  await laterTurns()
  stream.resume()
  const frames = await toSnapshots(stream, 20)
  t.equal(frames.filter(({ event }) => /snapshot$/.test(event)).length, 20)
  await server.app.service('tasks').patch(null, { done: true } as never)
  const patched = Array.from({ length: 20 }, (_, index) => `${index}/patched`).sort()
  t.strictSame(await nextNames(stream, 20), patched)
})

t.test('a service cannot have the path of the route, which can be changed', async (t) => {
  const taken = /'live-queries' is the path for lists of subscriptions/
  const start = (path?: string) =>
    startLiveServer(t, (app) => app.use('live-queries', new MongoDBService({ Model })), {
      realtime: path === undefined ? {} : { path },
    })
  await t.rejects(start(), taken)
  const server = await start('/streams/all')
  t.throws(
    () => server.app.use('streams/all', new MongoDBService({ Model }) as never),
    /'streams\/all'/,
  )
  const answer = await askForFrames(
    t,
    `${server.url}/streams/all`,
    {},
    {
      subscriptions: [{ id: '1', url: '/live-queries' }],
    },
  )
  t.match(await (answer as EventFrames).next(), { event: '1/open' })
  await (answer as EventFrames).close()
  for (const path of ['streams', '/a/', '//a', '/:a', '/a?b', 7]) {
    t.throws(() => realtime({ path: path as string }), /'path' must be a path of letters/)
  }
})

t.test('below a prefix, streams have URLs without it: a proxy may add it', async (t) => {
  const server = await startLiveServer(
    t,
    (app) => app.use('tasks', new MongoDBService({ Model })),
    { prefix: '/api' },
  )
  const list = {
    subscriptions: [
      { id: '1', url: '/tasks' },
      { id: '2', url: '/api/tasks' },
    ],
  }
  const { origin } = new URL(server.url)
  const stream = await askForFrames(t, `${origin}/api/live-queries`, {}, list)
  const frames = await toSnapshots(stream as EventFrames, 2)
  t.ok(frames.some(({ event, data }) => event === '2/end' && data.error.code === 404))
  await (stream as EventFrames).close()
})
