import type { ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate } from '../../../src/auth/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { publish, realtime, recheckStreams } from '../../../src/transport/realtime/index.ts'
import { forge, now } from '../../auth/login-app.ts'
import { addAccounts, bearer } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import type { EventFrames } from '../../support/event-frames.ts'
import { Gate } from '../../support/gate.ts'
import { until } from '../../support/until.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')

t.beforeEach(() => empty('tasks'))

t.test('a caller has as many streams as he may, and then no more until one ends', async (t) => {
  const server = await startLiveServer(
    t,
    async (app) => {
      const accounts = addAccounts(app)
      app.use('open', new MongoDBService({ Model }))
      app.use('closed', new MongoDBService({ Model }))
      app.service('closed').hooks({ before: { find: [authenticate('jwt')] } })
      for (const id of [1, 2]) await accounts.addUser({ id, email: `${id}@example.org` })
    },
    { realtime: { maxStreamsPerCaller: 2, maxStreams: 5 } },
  )
  await until(() => server.app.service('closed'))
  const one = bearer(await forge({ claims: { jti: 'a' } }))
  const sameLogin = bearer(await forge({ claims: { jti: 'b' } }))
  const other = bearer(await forge({ claims: { sub: '2' } }))
  const streams = [await server.open('/closed', one), await server.open('/closed', sameLogin)]
  const refused = { status: 429, body: { name: 'TooManyRequests', code: 429 } }
  t.match(await server.refusal('/closed', one), refused)
  streams.push(await server.open('/closed', other), await server.open('/open'))
  streams.push(await server.open('/open'))
  t.match(await server.refusal('/open'), refused, 'those without a login count by their address')
  const full = { status: 503, body: { name: 'Unavailable', code: 503 } }
  t.match(await server.refusal('/closed', other), full)
  t.equal(server.hub.size, 5)
  await streams[0]?.close()
  await until(() => server.hub.size === 4)
  await server.open('/closed', one)
  t.match(await server.refusal('/closed', one), refused)
})

t.test(
  'streams that are being opened count too, and a refused find counts for nothing',
  async (t) => {
    const gate = new Gate()
    let fails = true
    const server = await startLiveServer(
      t,
      (app) => {
        app.use('tasks', new MongoDBService({ Model }))
        app.service('tasks').hooks({
          after: {
            find: [
              async () => {
                if (fails) throw new Error('no')
                await gate.pass()
              },
            ],
          },
        })
      },
      { realtime: { maxStreamsPerCaller: 1 } },
    )
    for (let call = 0; call < 3; call += 1) {
      t.match(await server.refusal('/tasks'), { status: 500 })
    }
    fails = false
    const first = server.open('/tasks')
    await gate.arrivals(1)
    t.match(await server.refusal('/tasks'), { status: 429 })
    gate.open()
    await (await first).next()
    t.equal(server.hub.size, 1)
  },
)

t.test('a stream that ends while its rights are looked up is counted no longer', async (t) => {
  const gate = new Gate()
  let isSlow = false
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', new MongoDBService({ Model }))
      app.service('tasks').hooks({
        before: { find: [async () => (isSlow ? gate.pass() : undefined)] },
      })
    },
    { realtime: { maxStreamsPerCaller: 1 } },
  )
  const stream = await server.open('/tasks')
  await stream.next()
  isSlow = true
  recheckStreams(server.app.service('tasks'))
  await gate.arrivals(1)
  await stream.close()
  await until(() => server.hub.size === 0)
  isSlow = false
  gate.open()
  const next = await server.open('/tasks')
  t.equal((await next.next()).event, 'snapshot')
})

t.test('streams of one network of IPv6 count together', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    realtime: { maxStreamsPerCaller: 2, maxStreams: 4 },
    fastify: { trustProxy: true },
  })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  await server.open('/a', from('2001:db8:1:2::1'))
  await server.open('/a', from('2001:db8:1:2::2'))
  t.match(await server.refusal('/a', from('2001:db8:1:2:ffff::3')), { status: 429 })
  await server.open('/a', from('2001:db8:1:3::1'))
  await server.open('/a', from('::ffff:203.0.113.9'))
  t.match(await server.refusal('/a', from('203.0.113.10')), { status: 503 })
})

t.test('a stream of the user of a session counts for the user, as calls do', async (t) => {
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('a', new MongoDBService({ Model }))
      // A proof without a token, as that of an API key.
      const prove = (context: HookContext) => {
        const user = { id: context.params.headers?.['x-user'] }
        context.params = { ...context.params, user } as never
      }
      app.service('a').hooks({ before: { find: [prove] } })
    },
    { realtime: { maxStreamsPerCaller: 1 } },
  )
  await server.open('/a', { 'x-user': 'ann' })
  t.match(await server.refusal('/a', { 'x-user': 'ann' }), { status: 429 })
  await server.open('/a', { 'x-user': 'bob' })
})

t.test('maxStreams: 0 is none', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    realtime: { maxStreams: 0 },
  })
  t.match(await server.refusal('/a'), { status: 503 })
})

t.test(
  'a snapshot with more records than a stream follows is refused before it begins',
  async (t) => {
    await Model.insertMany([{}, {}, {}])
    const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
      realtime: { maxRecords: 2 },
    })
    t.match(await server.refusal('/a'), { status: 400, body: { message: /at most 2 records/ } })
    t.equal(server.hub.size, 0)
    const stream = await server.open('/a?$limit=2')
    t.equal((await stream.next()).data.length, 2)
  },
)

t.test('a stream that has sent more records than it may follow begins anew', async (t) => {
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })), {
    realtime: { maxRecords: 3 },
  })
  const stream = await server.open('/a?$limit=1')
  await stream.next()
  const service = server.app.service('a')
  for (const name of ['a', 'b', 'c', 'd']) await service.create({ name } as never)
  await stream.upTo(({ data }) => data.name === 'd')
  await service.create({ name: 'e' } as never)
  t.equal((await stream.next()).event, 'resync')
  t.equal((await stream.next()).event, 'snapshot')
})

t.test('the stream of a token that expires ends', async (t) => {
  const server = await startLiveServer(t, async (app) => {
    const accounts = addAccounts(app)
    app.use('tasks', new MongoDBService({ Model }))
    app.service('tasks').hooks({ before: { find: [authenticate('jwt')] } })
    await accounts.addUser({ id: 1, email: 'ann@example.org' })
  })
  const token = await forge({ claims: { exp: now() + 2 } })
  const stream = await server.open('/tasks', bearer(token))
  t.equal((await stream.next()).event, 'snapshot')
  t.match(await stream.next(), { event: 'end', id: undefined, data: { reason: 'expired' } })
  t.strictSame(await stream.rest(), [])
  const again = { ...bearer(token), 'last-event-id': stream.lastId }
  t.match(await server.refusal('/tasks', again), { status: 401 })
})

const VERDICTS: Readonly<
  Record<string, { says: () => unknown; isHeard: boolean; isLogged: boolean }>
> = {
  true: { says: () => true, isHeard: true, isLogged: false },
  false: { says: () => false, isHeard: false, isLogged: false },
  nothing: { says: () => undefined, isHeard: false, isLogged: true },
  'a promise of true': { says: async () => true, isHeard: false, isLogged: true },
  'a truthy value': { says: () => 1, isHeard: false, isLogged: true },
  'an error': {
    says: () => {
      throw new Error('publish')
    },
    isHeard: false,
    isLogged: true,
  },
}

for (const [verdict, { says, isHeard, isLogged }] of Object.entries(VERDICTS)) {
  t.test(`publish: ${verdict} is ${isHeard ? 'a' : 'no'} yes`, async (t) => {
    const asked: unknown[][] = []
    const server = await startLiveServer(t, (app) => {
      app.use('tasks', new MongoDBService({ Model, hidden: ['secret'] }))
      app.service('tasks').hooks({
        before: {
          find: [({ params }: HookContext) => void Object.assign(params, { user: 'ann' })],
        },
      })
      publish(app.service('tasks'), (record, context, { params }) => {
        asked.push([record, context, Reflect.get(params, 'user')])
        return record['name'] === 'fence' || (says() as boolean)
      })
    })
    const stream: EventFrames = await server.open('/tasks')
    await stream.next()
    const tasks = server.app.service('tasks')
    const created = await tasks.create({ name: 'a', secret: 1 } as never)
    t.strictSame(await linesSoFar(stream, tasks), isHeard ? ['created a'] : [])
    const { _id } = created as unknown as { _id: ObjectId }
    t.match(asked[0], [{ _id, name: 'a', secret: 1 }, { path: 'tasks', event: 'created' }, 'ann'])
    t.equal((asked[0]?.[1] as { app: object } | undefined)?.app, server.app)
    t.equal(
      server.logged.some(({ message }) => /listener/.test(`${message}`)),
      isLogged,
    )
  })
}

t.test('publish is a method of services, unless they have one of that name', async (t) => {
  const own = { find: async () => [], publish: async () => 'published' }
  const server = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    app.use('own', own as never)
  })
  const { app } = server
  const tasks = app.service('tasks')
  tasks.publish((task) => (task as { name?: string }).name !== 'quiet')
  const stream = await server.open('/tasks')
  await stream.next()
  await tasks.create({ name: 'quiet' } as never)
  t.strictSame(await linesSoFar(stream, tasks), [])
  t.equal(await (app.service('own') as unknown as typeof own).publish(), 'published')
  await stream.close()
  const service = await app.unuse('tasks')
  t.notOk('publish' in (service as object), 'a service that is gone is as it was')
})

t.test('publish takes a function', (t) => {
  t.throws(() => publish({}, true as never), { name: 'TypeError' })
  t.end()
})

t.test('a bus that lacks a method is refused', (t) => {
  const bus = { overlapMs: 0, publish: () => undefined }
  t.throws(() => realtime({ bus: bus as never }), /'bus' must be an EventBus/)
  t.end()
})
