import { createRequire } from 'node:module'
import { BSON, ObjectId } from 'mongodb'
import t from 'tap'
import { limitTo, MongoDBService, mongoEvents, transaction } from '../../../src/adapter/index.ts'
import {
  AuthenticationService,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from '../../../src/auth/index.ts'
import type { EventBus, HookContext } from '../../../src/core/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { createApp } from '../../../src/transport/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import type { SocketioOptions } from '../../../src/transport/socketio/index.ts'
import { socketio } from '../../../src/transport/socketio/index.ts'
import { openDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { CHEAP_SCRYPT, CREDENTIALS, SECRET } from '../../support/users.ts'
import type { SocketServer } from './socket-server.ts'
import { startSocketServer } from './socket-server.ts'

const { db, empty } = await openDatabase(t)

t.beforeEach(async () => {
  for (const name of ['messages', 'users', 'events']) await empty(name)
})

const createBus = (): EventBus => mongoEvents({ collection: db.collection('events'), pollMs: 5 })

interface Messages {
  create(data: object, params?: object): Promise<{ readonly _id: ObjectId }>
  patch(id: unknown, data: object): Promise<unknown>
  remove(id: unknown): Promise<unknown>
  emit(event: string, data: object): void
}

interface Process extends SocketServer {
  readonly messages: Messages
  /** What publishers of messages were called with. */
  readonly asked: [data: Record<string, unknown>, context: HookContext][]
  /** What listeners of messages in this process have heard. */
  readonly heard: string[]
  readonly log: unknown[]
}

interface ProcessOptions extends SocketioOptions {
  readonly configure?: (app: FastifyApplication) => void
}

/** Starts one process of an application with messages, users and logins. Events go to every connection. */
async function startProcess(
  t: Parameters<typeof startSocketServer>[0],
  { configure, bus = createBus(), ...options }: ProcessOptions = {},
): Promise<Process> {
  const asked: Process['asked'] = []
  const heard: string[] = []
  const log: unknown[] = []
  const addServices = (app: FastifyApplication): void => {
    const note = (details: object, text: string): unknown => log.push([text, details])
    app.logger = { error: note, warn: note, info: () => undefined } as never
    const Model = db.collection('messages')
    const settings = { Model, multi: true, hidden: ['secret', 'author.hash'] }
    app.use('messages', new MongoDBService(settings) as never, { events: ['typing'] })
    app.use('users', new MongoDBService({ Model: db.collection('users') }) as never)
    app.service('users').hooks({
      before: { create: [hashPassword('password')], patch: [hashPassword('password')] },
      after: { all: [protect('password')] },
    } as never)
    const authentication = new AuthenticationService(app, 'authentication', {
      ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'local'] },
      local: { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT },
      revocation: true,
    })
    authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
    app.use('authentication', authentication as never)
    app.on('connection', (connection: object) => app.channel('all').join(connection))
    app.service('messages').publish((data: Record<string, unknown>, context: HookContext) => {
      asked.push([data, context])
      return app.channel('all')
    })
    for (const event of ['created', 'patched', 'removed', 'typing']) {
      app.service('messages').on(event, () => heard.push(event))
    }
    configure?.(app)
  }
  const server = await startSocketServer(t, addServices, { options: { ...options, bus } })
  const messages = server.app.service('messages') as unknown as Messages
  return { ...server, messages, asked, heard, log }
}

/** Starts two processes of an application. */
async function startPair(t: Parameters<typeof startSocketServer>[0], options?: ProcessOptions) {
  return [await startProcess(t, options), await startProcess(t, options)] as const
}

/** Returns the names and texts of the events that a client gets. */
async function listen({ connect }: SocketServer): Promise<string[]> {
  const { socket } = await connect()
  const events: string[] = []
  socket.onAny((name: string, { text }: { text: string }) => events.push(`${name}: ${text}`))
  return events
}

/** Resolves to all that is stored of events, as text. */
async function readStored(): Promise<string> {
  const stored = await db.collection('events').find().toArray()
  return stored.map((event) => Buffer.from(BSON.serialize(event)).toString('latin1')).join()
}

t.test('events reach the sockets of all processes, each once and in their order', async (t) => {
  const [a, b] = await startPair(t)
  const [ofA, ofB] = [await listen(a), await listen(b)]
  const { _id } = await a.messages.create({ text: 'one' })
  await a.messages.patch(_id, { text: 'two' })
  await a.messages.patch(null, { text: 'three' })
  a.messages.emit('typing', { text: 'four' })
  await a.messages.remove(_id)
  await until(() => ofB.some((one) => one.includes('removed')))
  await b.messages.create({ text: 'fence' })
  const expected = [
    ...['messages created: one', 'messages patched: two', 'messages patched: three'],
    ...['messages typing: four', 'messages removed: three', 'messages created: fence'],
  ]
  await until(() => ofA.length >= 6 && ofB.length >= 6)
  t.strictSame([ofA, ofB], [expected, expected])
  t.strictSame(b.heard, ['created'], 'listeners of services hear only their own process')
  t.strictSame([a.log, b.log], [[], []])
})

t.test(
  'SIO-32: publishers of other processes get what clients see of a record, with its types',
  async (t) => {
    const [a, b] = await startPair(t)
    const seen = (await b.connect()).collect('messages created')
    const [room, at] = [new ObjectId(), new Date(0)]
    const author = { name: 'Ada', hash: 'hidden' }
    const user = { _id: new ObjectId(), team: 7 }
    const params = { query: { $select: ['room'] }, route: { org: 'x' }, provider: 'rest', user }
    await a.messages.create({ room, at, author, secret: 'hidden', n: 1.5, list: [room] })
    await until(() => seen.length === 1)
    const [[data, context] = []] = b.asked
    t.match(data, { room, at, author: { name: 'Ada' }, n: 1.5, list: [room] })
    t.ok(data?.['room'] instanceof ObjectId && data?.['at'] instanceof Date)
    t.strictSame(data?.['author'], { name: 'Ada' })
    t.notOk('secret' in (data ?? {}))
    t.strictSame(seen, JSON.parse(JSON.stringify([data])))
    t.equal(context?.app, b.app)
    t.equal(context?.service, b.app.service('messages'))
    t.match(context, { path: 'messages', method: 'create', event: 'created', result: data })
    await a.messages.create({ room, secret: 'hidden' }, params)
    await until(() => b.asked.length === 2)
    t.match(b.asked[1]?.[1].params, params)
    const caller = Object(b.asked[1]?.[1].params).user as typeof user
    t.ok(caller._id.equals(user._id))
    const { email, password } = CREDENTIALS
    const ada = (await a.app.service('users').create({ email, password } as never)) as {
      readonly _id: ObjectId
    }
    t.ok('password' in ada)
    await a.messages.create({ room }, { user: ada })
    await until(() => b.asked.length === 3)
    t.strictSame(Object(b.asked[2]?.[1].params).user, { _id: ada._id, email })
    t.notMatch(await readStored(), /hidden|scrypt/)
  },
)

t.test('clients of all processes get the records that hooks have shaped', async (t) => {
  const configure = (app: FastifyApplication): void => {
    app.service('messages').hooks({
      after: {
        create: [protect('password', 'author.token')],
        patch: [
          (context) => {
            context.dispatch = { ...(context.result as object), email: '***', extra: true }
          },
        ],
      },
    })
  }
  const [a, b] = await startPair(t, { configure })
  const [ofA, ofB] = [await a.connect(), await b.connect()].map((client) => [
    client.collect('messages created'),
    client.collect('messages patched'),
  ])
  const room = new ObjectId()
  const author = { name: 'Ada', token: 'secret' }
  const { _id } = await a.messages.create({ room, password: 'secret', author, email: 'ada' })
  await a.messages.patch(_id, { email: 'eve' })
  await until(() => ofA?.[1]?.length === 1 && ofB?.[1]?.length === 1)
  t.strictSame(ofA, ofB)
  t.strictSame(ofB?.[0], [
    { _id: String(_id), room: String(room), author: { name: 'Ada' }, email: 'ada' },
  ])
  t.match(ofB?.[1], [{ email: '***', extra: true }])
  t.strictSame(b.asked[0]?.[0], { _id, room, author: { name: 'Ada' }, email: 'ada' })
  t.equal(b.asked[1]?.[0]['email'], '***')
})

t.test('events of a transaction reach other processes after its commit', async (t) => {
  const [a, b] = await startPair(t)
  const ofB = await listen(b)
  const aborted = transaction(a.app, async () => {
    await a.messages.create({ text: 'aborted' })
    throw new Error('no')
  })
  await t.rejects(aborted, { message: 'no' })
  await transaction(a.app, async () => {
    const { _id } = await a.messages.create({ text: 'one' })
    await a.messages.patch(_id, { text: 'two' })
    t.equal(await db.collection('events').countDocuments(), 0)
  })
  await until(() => ofB.length >= 2)
  t.strictSame(ofB, ['messages created: one', 'messages patched: two'])
})

for (const [title, change] of [
  [
    'is removed',
    (app: FastifyApplication, id: unknown) => app.service('users').remove(id as never),
  ],
  [
    'gets another password',
    (app: FastifyApplication, id: unknown) =>
      app.service('users').patch(id as never, { password: 'other' } as never),
  ],
] as const) {
  t.test(`SIO-30: a connection ends when its user ${title} in another process`, async (t) => {
    const [a, b] = await startPair(t)
    const { email, password } = CREDENTIALS
    const users = a.app.service('users')
    const { _id } = (await users.create({ email, password } as never)) as { _id: unknown }
    const [client, other] = [await b.connect(), await b.connect()]
    await client.call('create', 'authentication', CREDENTIALS)
    await users.patch(_id as never, { name: 'Ada' } as never)
    const [connection] = b.app.channel('all').connections as [{ user: { name?: string } }]
    await until(() => connection.user.name === 'Ada')
    t.notOk('password' in connection.user)
    await change(a.app, _id)
    await until(() => client.socket.disconnected)
    t.equal(b.app.channel('all').length, 1)
    t.ok(other.socket.connected)
    t.notMatch(await readStored(), /scrypt/)
  })
}

t.test('SIO-31: a logout ends the connections of its token in all processes', async (t) => {
  const [a, b] = await startPair(t)
  const { email, password } = CREDENTIALS
  await a.app.service('users').create({ email, password } as never)
  const client = await a.connect()
  const { accessToken } = (await client.call('create', 'authentication', CREDENTIALS)) as {
    accessToken: string
  }
  const [same, other] = [await b.connect({ auth: { accessToken } }), await b.connect()]
  await other.call('create', 'authentication', CREDENTIALS)
  await client.call('remove', 'authentication', null)
  await until(() => same.socket.disconnected)
  t.ok(client.socket.connected && other.socket.connected)
})

t.test('SIO-33: with checkReads, find is asked in the process of the socket', async (t) => {
  const configure = (app: FastifyApplication): void => {
    app.service('messages').hooks({
      before: { find: [limitTo((params) => ({ team: Reflect.get(params, 'team') as string }))] },
    })
    app.on('connection', (connection: { headers: Record<string, string>; team?: string }) => {
      connection.team = String(connection.headers['x-team'])
    })
  }
  const [a, b] = await startPair(t, { configure, checkReads: true })
  const [red, blue] = await Promise.all(
    ['red', 'blue'].map(async (team) => {
      const { socket } = await b.connect({ extraHeaders: { 'x-team': team } })
      const events: string[] = []
      socket.onAny((name: string, one: { text: string; secret?: string }) =>
        events.push(`${name}: ${one.text} ${one.secret}`),
      )
      return events
    }),
  )
  const { _id } = await a.messages.create({ team: 'red', text: 'one', secret: 's' })
  await until(() => red?.length === 1)
  await a.messages.patch(_id, { team: 'blue', text: 'two' })
  await until(() => blue?.length === 1)
  await a.messages.remove(_id)
  await until(() => blue?.length === 2)
  await a.messages.create({ team: 'red', text: 'fence' })
  await until(() => red?.length === 2)
  t.strictSame(red, ['messages created: one undefined', 'messages created: fence undefined'])
  t.strictSame(blue, ['messages patched: two undefined', 'messages removed: two undefined'])
})

/** A bus within the process, whose methods may be replaced. */
function createLocalBus(methods: Partial<EventBus> = {}): EventBus {
  const done = async (): Promise<void> => undefined
  return {
    overlapMs: 0,
    open: done,
    publish: () => undefined,
    check: done,
    close: done,
    ...methods,
  }
}

t.test(
  'a bus that fails is logged, and delays neither calls nor events of the process',
  async (t) => {
    const publish = (): never => {
      throw new Error('The bus is away')
    }
    const a = await startProcess(t, { bus: createLocalBus({ publish }) })
    const ofA = await listen(a)
    await a.messages.create({ text: 'one' })
    await until(() => ofA.length === 1 && a.log.length > 0)
    t.match(a.log, [['An event listener failed', { err: { message: 'The bus is away' } }]])
  },
)

t.test('an event that is too large for the bus is logged, and later ones arrive', async (t) => {
  const [a, b] = await startPair(t)
  const [ofA, ofB] = [await listen(a), await listen(b)]
  a.messages.emit('typing', { text: 'one', big: 'x'.repeat(15 * 2 ** 20) })
  a.messages.emit('typing', { text: 'two' })
  await until(() => ofA.length === 2 && ofB.length === 1)
  t.strictSame(ofB, ['messages typing: two'])
  for (const { log } of [a, b]) t.match(log, [[/too large/, { service: 'messages' }]])
})

t.test('streams and sockets share a bus, which opens and closes once', async (t) => {
  const calls: string[] = []
  const bus = createBus()
  const watched = createLocalBus({
    open: async (receiver) => {
      calls.push('open')
      await bus.open(receiver)
    },
    publish: (event) => {
      calls.push(event.path)
      bus.publish(event)
    },
    check: () => bus.check(),
    close: async () => {
      calls.push('close')
      await bus.close()
    },
  })
  const a = await startProcess(t, {
    bus: watched,
    configure: (app) => app.configure(realtime({ bus: watched })),
  })
  await a.messages.create({ text: 'one' })
  await until(() => calls.length === 3)
  await a.app.readiness.get('events')?.()
  await a.app.close()
  t.strictSame(calls, ['open', 'messages', '/sockets/messages', 'close'])
})

t.test('each of many records that change at once is an event', async (t) => {
  const [a, b] = await startPair(t)
  const ofB = await listen(b)
  const records = Array.from({ length: 1_500 }, (_one, n) => ({ text: `number ${n}` }))
  await db.collection('messages').insertMany(records)
  await a.messages.patch(null, { seen: true })
  await until(() => ofB.length >= 1_500)
  t.strictSame(ofB.slice(0, 2), ['messages patched: number 0', 'messages patched: number 1'])
  t.equal(new Set(ofB).size, 1_500)
})

t.test('a process sends no events from before its start', async (t) => {
  const a = await startProcess(t)
  const ofA = await listen(a)
  await a.messages.create({ text: 'before' })
  await until(async () => (await db.collection('events').countDocuments()) === 1)
  const b = await startProcess(t)
  const ofB = await listen(b)
  await a.messages.create({ text: 'after' })
  await until(() => ofB.length > 0 && ofA.length === 2)
  t.strictSame(ofB, ['messages created: after'])
  t.equal(b.asked.length, 1)
})

/** An adapter of Socket.IO for several servers in one process, as packages make them for Redis or MongoDB. */
function createAdapter(): NonNullable<SocketioOptions['adapter']> {
  const require = createRequire(createRequire(import.meta.url).resolve('socket.io'))
  const { ClusterAdapter } = require('socket.io-adapter') as Adapters
  const members: ClusterMember[] = []
  return class extends ClusterAdapter {
    constructor(namespace: unknown) {
      super(namespace)
      members.push(this)
    }

    async doPublish(message: object): Promise<string> {
      for (const one of members) if (one !== this) one.onMessage(message)
      return ''
    }
  } as never
}

interface ClusterMember {
  onMessage(message: object): void
}

interface Adapters {
  readonly ClusterAdapter: new (namespace: unknown) => ClusterMember
}

t.test(
  'an adapter of Socket.IO carries what the application emits, but not events of services',
  async (t) => {
    const [a, b] = await startPair(t, { adapter: createAdapter() })
    const [ofA, ofB] = [await listen(a), await listen(b)]
    await a.messages.create({ text: 'event' })
    await until(() => ofB.length === 1)
    a.app.io.emit('news', { text: 'emitted' })
    await until(() => ofA.length === 2 && ofB.length === 2)
    const expected = ['messages created: event', 'news: emitted']
    t.strictSame([ofA, ofB], [expected, expected])
  },
)

t.test('services are torn down even if the bus cannot be closed', async (t) => {
  const close = (): Promise<never> => Promise.reject(new Error('The bus is away'))
  let isDown = false
  const teardown = async (): Promise<void> => {
    isDown = true
  }
  const app = createApp().configure(socketio({ bus: createLocalBus({ close }) }))
  app.use('notes', { find: async () => [], teardown } as never)
  await app.setup()
  await t.rejects(app.teardown(), { message: 'The bus is away' })
  t.equal(isDown, true)
})

t.test('events without a publisher are not sent to the bus', async (t) => {
  const published: string[] = []
  const bus = createLocalBus({ publish: ({ path, name }) => published.push(`${path} ${name}`) })
  const a = await startProcess(t, {
    bus,
    configure: (app) => app.use('notes', { create: async (data: object) => data }),
  })
  await a.app.service('notes').create({ text: 'one' } as never)
  await a.messages.create({ text: 'two' })
  await until(() => published.length === 1)
  t.strictSame(published, ['/sockets/messages created'])
})
