import type { Test } from 'tap'
import t from 'tap'
import { Channel } from '../../../src/transport/socketio/channels.ts'
import { until } from '../../support/until.ts'
import { startSocketServer } from './socket-server.ts'

const a = { name: 'a' }
const b = { name: 'b' }
const c = { name: 'c' }

t.test('a channel has each connection once, and forgets those that leave', async (t) => {
  const channel = new Channel()
  t.equal(channel.join(a, b, a, undefined, null).length, 2)
  t.strictSame(channel.filter(({ name }) => name === 'b').connections, [b])
  t.strictSame(channel.leave(c, ({ name }: typeof a) => name === 'a').connections, [b])
  t.equal(channel.send(0).dataFor(b), 0)
  t.equal(channel.dataFor(b), null)
})

t.test('several channels combined join, leave and send together', async (t) => {
  const first = new Channel([a, b])
  const second = new Channel([b, c]).send('second')
  const both = new Channel([], null, [first, second])
  t.strictSame(both.connections, [a, b, c])
  // The first channel of a connection decides.
  t.strictSame(
    [a, b, c].map((one) => both.dataFor(one)),
    [null, null, 'second'],
  )
  t.strictSame(both.filter(({ name }) => name !== 'a').connections, [b, c])
  t.equal(both.send('all').dataFor(a), 'all')
  both.leave(b)
  t.strictSame([first.length, second.length], [1, 1])
})

t.test('an application has channels by name, and forgets empty ones', async (t) => {
  const { app } = await startSocketServer(t, () => undefined)
  t.throws(() => app.channel(), /needs at least one channel name/)
  t.equal(app.channel('named').length, 0)
  t.strictSame(app.channels, ['named'])
  app.channel('named').leave(a)
  app.channel('x', 'y').join(a)
  t.strictSame(app.channels, ['x', 'y'])
  t.strictSame(app.channel('x').connections, [a])
  app.channel('x').leave(a)
  t.strictSame(app.channels, ['y'])
  t.throws(() => app.publish('created', 1 as never), /takes a function/)
})

async function startRoom(t: Test) {
  const createService = () => ({
    create: async (data: object) => data,
    patch: async (id: unknown, data: object) => ({ id, ...data }),
  })
  const server = await startSocketServer(t, (app) => {
    app.use('messages', createService(), { events: ['status'] })
    app.use('others', createService())
    app.on('connection', (connection: object) => app.channel('all').join(connection))
  })
  const client = await server.connect()
  return { ...server, client, messages: server.app.service('messages') }
}

t.test('nothing is published without a publisher, and null publishes nothing', async (t) => {
  const { app, client, messages } = await startRoom(t)
  const events = client.collect('messages created')
  await messages.create({ n: 1 } as never)
  app.publish(() => app.channel('all'))
  messages.publish('created', () => null)
  await messages.create({ n: 2 } as never)
  messages.publish('created', (data) => app.channel('all').send({ told: data.n }))
  await messages.create({ n: 3 } as never)
  await until(() => events.length > 0)
  t.strictSame(events, [{ told: 3 }])
})

t.test('the most specific publisher is called', async (t) => {
  const { app, client, messages } = await startRoom(t)
  const all = () => app.channel('all')
  const created = client.collect('messages created')
  const patched = client.collect('messages patched')
  const others = client.collect('others patched')
  app.publish(() => all().send('app'))
  app.publish('patched', () => all().send('app patched'))
  messages.publish('created', async () => [[all().send('service created')], undefined])
  await messages.create({} as never)
  await messages.patch(1, {} as never)
  await app.service('others').patch(1, {} as never)
  await until(() => created.length + patched.length + others.length === 3)
  t.strictSame([created, patched, others], [['service created'], ['app patched'], ['app patched']])
  messages.publish(() => all().send('service'))
  await messages.patch(1, {} as never)
  await until(() => patched.length === 2)
  t.equal(patched[1], 'service')
  t.throws(() => messages.publish('unknown', () => null), /is not a valid service event/)
})

t.test('each record of a list is an event, with its part of the dispatch', async (t) => {
  const { app, client, messages } = await startRoom(t)
  app.publish(() => app.channel('all'))
  const events = client.collect('messages created')
  messages.hooks({
    after: {
      create: [
        (context) => {
          const list = context.result as unknown as { n: number }[]
          context.dispatch = list.map(({ n }) => ({ shown: n })) as never
        },
      ],
    },
  })
  await messages.create([{ n: 1 }, { n: 2 }] as never)
  await until(() => events.length === 2)
  t.strictSame(events, [{ shown: 1 }, { shown: 2 }])
})

t.test('the context of events that a service emits itself has only path and data', async (t) => {
  const { app, client, messages } = await startRoom(t)
  const contexts: object[] = []
  messages.publish('status', (_data, { path, result }) => {
    contexts.push({ path, result })
    return [app.channel('all'), app.channel('all')]
  })
  const events = client.collect('messages status')
  messages.emit('status', { n: 1 })
  await until(() => events.length > 0)
  t.strictSame(events, [{ n: 1 }])
  t.strictSame(contexts, [{ path: 'messages', result: { n: 1 } }])
})

t.test('a publisher that fails is logged, and changes nothing for the caller', async (t) => {
  const { app, messages } = await startRoom(t)
  const logged: unknown[] = []
  app.logger = { error: (...values: unknown[]) => logged.push(values) } as never
  messages.publish(() => {
    throw new Error('no')
  })
  t.match(await messages.create({ n: 1 } as never), { n: 1 })
  await until(() => logged.length > 0)
  t.match(logged, [[{ event: 'messages created' }, 'An event listener failed']])
})

t.test('a connection that has ended is in no channel', async (t) => {
  const { app, client, connect } = await startRoom(t)
  const gone: object[] = []
  app.on('disconnect', (connection: object) => gone.push(connection))
  await connect()
  t.equal(app.channel('all').length, 2)
  client.socket.close()
  await until(() => gone.length > 0)
  t.equal(app.channel('all').length, 1)
  t.equal(gone.length, 1)
})

t.test(
  'a channel kept in a variable is the one of its name, also after it was empty',
  async (t) => {
    const { app } = await startSocketServer(t, () => undefined)
    const kept = app.channel('members')
    kept.join(a).leave(a)
    app.channel('members').join(b)
    kept.join(c)
    t.strictSame(app.channel('members').connections, [b, c])
    kept.leave(b, c)
    t.strictSame(app.channels, [])
    app.emit('logout', {}, { connection: a })
    kept.join(a)
    t.strictSame(app.channels, ['members'])
  },
)

t.test('a channel tells when its last connection leaves, by a logout as well', async (t) => {
  const { app } = await startSocketServer(t, () => undefined)
  const left: string[] = []
  const kept = app.channel('members').join(a)
  t.equal(app.channel('members'), kept)
  kept.on('empty', () => left.push('members'))
  app.channel('members').send({ text: 'bye' }).join(b)
  t.strictSame(kept.connections, [a, b])
  app.channel('others').join(b)
  kept.leave(b)
  t.strictSame(left, [])
  app.emit('logout', {}, { connection: a })
  t.strictSame(left, ['members'])
  t.strictSame(app.channels, ['others'])
})

t.test('a channel without connections takes no memory', async (t) => {
  const { app, messages } = await startRoom(t)
  const named: number[] = []
  messages.publish((data) => {
    named.push(data.n)
    return [app.channel(`rooms/${data.n}`), app.channel('all', `halls/${data.n}`)]
  })
  for (let n = 0; n < 10; n += 1) await messages.create({ n } as never)
  await until(() => named.length === 10)
  t.strictSame(app.channels, ['all'])
})
