import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate } from '../../../src/auth/index.ts'
import type { HookContext, Params } from '../../../src/core/index.ts'
import { Forbidden, Unavailable } from '../../../src/core/index.ts'
import { recheckStreams } from '../../../src/transport/realtime/index.ts'
import { addAccounts, bearer, logIn } from '../../support/accounts.ts'
import { holdTimers, leadClock } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { laterTurns, until } from '../../support/until.ts'
import type { LiveServerOptions } from './live-server.ts'
import { startLiveServer, toLines } from './live-server.ts'

interface Task {
  readonly _id: string
  readonly team: string
}

/** Tasks in memory: only `find` knows which of them it returns. It counts its calls. */
class Tasks {
  readonly all = new Map<string, Task>()
  finds = 0
  running = 0
  /** How many calls ran at the same time. */
  most = 0
  gate: Gate | undefined
  failure: Error | undefined

  async find({ query }: Params) {
    this.finds += 1
    this.running += 1
    this.most = Math.max(this.most, this.running)
    try {
      await this.gate?.pass()
      const { failure } = this
      this.failure = undefined
      if (failure !== undefined) throw failure
      return [...this.all.values()].filter(({ team }) => team === query?.['team'])
    } finally {
      this.running -= 1
    }
  }

  async create(task: Task) {
    this.all.set(task._id, task)
    return task
  }

  async remove(id: string) {
    const task = this.all.get(id)
    this.all.delete(id)
    return task
  }
}

interface Emitting {
  create(task: Task): Promise<unknown>
  remove(id: string): Promise<unknown>
  emit(event: string, data: unknown): unknown
}

const RED = '/tasks?team=red'

/** A server of tasks, with hooks of their `find`. */
async function startTasks(t: Test, hooks: object = {}, options: LiveServerOptions = {}) {
  const tasks = new Tasks()
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', tasks as never)
      app.service('tasks').hooks(hooks)
    },
    { realtime: { recheckMs: 1_000_000, ...options.realtime } },
  )
  const service = server.app.service('tasks') as unknown as Emitting
  let count = 0
  const add = (team: string): Promise<unknown> => {
    count += 1
    return service.create({ _id: `${team} ${count}`, team })
  }
  return { tasks, server, service, add }
}

const ids = (data: unknown): string[] => (data as Task[]).map(({ _id }) => _id)

t.test('each event has find run again, whose result is sent', async (t) => {
  const { server, service, add } = await startTasks(t)
  await add('red')
  const stream = await server.open(RED)
  t.match(await stream.next(), { event: 'snapshot', data: [{ _id: 'red 1' }] })
  await add('red')
  const added = await stream.next()
  t.strictSame([added.event, ids(added.data)], ['snapshot', ['red 1', 'red 2']])
  await service.remove('red 1')
  const removed = await stream.next()
  t.strictSame([removed.event, ids(removed.data)], ['snapshot', ['red 2']])
})

t.test('an event that changes nothing of the result sends nothing', async (t) => {
  const { tasks, server, service, add } = await startTasks(t)
  const stream = await server.open(RED)
  await stream.next()
  await add('blue')
  await until(() => tasks.finds >= 2 && tasks.running === 0)
  await laterTurns()
  service.emit('rung', { _id: 'blue 1' })
  recheckStreams(service)
  await until(() => tasks.finds >= 3 && tasks.running === 0)
  await laterTurns()
  await add('red')
  await stream.next()
  t.strictSame(
    stream.frames.map(({ data }) => ids(data)),
    [[], ['red 2']],
  )
})

t.test('an equal result is sent again at times: events may have hidden another one', async (t) => {
  const clock = leadClock(t)
  const { tasks, server, add } = await startTasks(t, {}, { realtime: { recheckMs: 1_000_000 } })
  const stream = await server.open(RED)
  await stream.next()
  clock.advance(2_000_000)
  recheckStreams(server.app.service('tasks'))
  t.match(await stream.next(), { event: 'snapshot', data: [] })
  await add('blue')
  await until(() => tasks.finds >= 3 && tasks.running === 0)
  await laterTurns()
  t.strictSame(toLines(stream.frames), ['snapshot', 'snapshot'])
})

t.test('events while find runs have it run once more, and never twice at a time', async (t) => {
  const { tasks, server, add } = await startTasks(t)
  const stream = await server.open(RED)
  await stream.next()
  const gate = new Gate()
  tasks.gate = gate
  await add('red')
  await gate.arrivals(1)
  for (let count = 0; count < 3; count += 1) await add('red')
  await laterTurns()
  t.equal(tasks.finds, 2)
  tasks.gate = undefined
  gate.open()
  await stream.upTo(({ data }) => ids(data).length === 4)
  await laterTurns()
  t.ok(tasks.finds <= 3, String(tasks.finds))
  t.equal(tasks.most, 1)
})

t.test('an event while the stream is opened is not lost', async (t) => {
  const { tasks, server, add } = await startTasks(t)
  const gate = new Gate()
  tasks.gate = gate
  const opening = server.open(RED)
  await gate.arrivals(1)
  await add('red')
  tasks.gate = undefined
  gate.open()
  const stream = await opening
  await stream.upTo(({ data }) => ids(data).length === 1)
})

t.test('10,000 events at once have find run once', async (t) => {
  const { tasks, server, service } = await startTasks(t)
  const stream = await server.open(RED)
  await stream.next()
  for (let count = 0; count < 10_000; count += 1) {
    const task = { _id: `task ${count % 2_000}`, team: 'red' }
    tasks.all.set(task._id, task)
    service.emit('patched', task)
  }
  const { data } = await stream.next()
  t.equal(ids(data).length, 2_000)
  await laterTurns()
  t.equal(tasks.finds, 2)
})

t.test('10,000 events in 100 turns have find run once a turn at most', async (t) => {
  const { tasks, server, service } = await startTasks(t)
  const stream = await server.open(RED)
  await stream.next()
  for (let turn = 0; turn < 100; turn += 1) {
    for (let count = 0; count < 100; count += 1) {
      const task = { _id: `task ${turn}`, team: 'red' }
      tasks.all.set(task._id, task)
      service.emit('patched', task)
    }
    await laterTurns(1)
  }
  await stream.upTo(({ data }) => ids(data).length === 100)
  await laterTurns()
  t.ok(tasks.finds <= 102, String(tasks.finds))
  t.equal(tasks.most, 1)
})

t.test('many streams take turns: 8 finds of a service run at a time', async (t) => {
  const { tasks, server, add } = await startTasks(t)
  const streams = await Promise.all(Array.from({ length: 20 }, () => server.open(RED)))
  for (const stream of streams) await stream.next()
  const gate = new Gate()
  tasks.gate = gate
  tasks.most = 0
  await add('red')
  await gate.arrivals(8)
  await laterTurns()
  t.equal(tasks.most, 8)
  gate.open()
  for (const stream of streams) t.match(await stream.next(), { data: [{ _id: 'red 1' }] })
  t.equal(tasks.most, 8)
})

t.test('a find that fails ends the stream, which the client opens again', async (t) => {
  const { tasks, server, add } = await startTasks(t)
  const stream = await server.open(RED)
  await stream.next()
  tasks.failure = new Error('The disk is full')
  await add('red')
  t.match(await stream.rest(), [{ event: 'end', data: { reason: 'closing' } }])
  const again = await server.open(RED, { 'last-event-id': stream.lastId })
  t.strictSame(toLines([await again.next(), await again.next()]), ['resync', 'snapshot'])
  t.strictSame(ids(again.frames[1]?.data), ['red 1'])
})

t.test('a find that fails because something is away is tried again', async (t) => {
  const timers = holdTimers(t, 1_000)
  const { tasks, server, add } = await startTasks(t)
  const stream = await server.open(RED)
  await stream.next()
  tasks.failure = new Unavailable('The index is away')
  await add('red')
  await until(() => timers.size >= 1)
  await add('red')
  timers.fire()
  t.strictSame(ids((await stream.next()).data), ['red 1', 'red 2'])
  t.strictSame(toLines(stream.frames), ['snapshot', 'snapshot'])
})

t.test('hooks run before each find: what they allow may change', async (t) => {
  let team = 'red'
  const restrict = ({ params }: HookContext): void => {
    if (team === '') throw new Forbidden('Not a member')
    params.query = { team }
  }
  const { server, service, add } = await startTasks(t, { before: { find: [restrict] } })
  for (const name of ['red', 'blue']) await add(name)
  const stream = await server.open('/tasks')
  t.strictSame(ids((await stream.next()).data), ['red 1'])
  team = 'blue'
  recheckStreams(service)
  t.strictSame(ids((await stream.next()).data), ['blue 2'])
  team = ''
  await add('blue')
  const end = { event: 'end', data: { reason: 'refused', message: 'Not a member' } }
  t.match(await stream.rest(), [end])
})

t.test('a recheck that is asked for while find runs has it run again first', async (t) => {
  let team = 'red'
  const restrict = ({ params }: HookContext): void => {
    params.query = { team }
  }
  const { tasks, server, service, add } = await startTasks(t, { before: { find: [restrict] } })
  const stream = await server.open('/tasks')
  await stream.next()
  const gate = new Gate()
  tasks.gate = gate
  await add('red')
  await gate.arrivals(1)
  team = 'blue'
  recheckStreams(service)
  await add('blue')
  tasks.gate = undefined
  gate.open()
  t.strictSame(ids((await stream.next()).data), ['blue 2'], 'and not what red may read')
})

t.test('a logout while find runs ends the stream, and nothing is sent', async (t) => {
  const tasks = new Tasks()
  const server = await startLiveServer(t, async (app) => {
    const accounts = addAccounts(app, { settings: { revocation: true } })
    app.use('tasks', tasks as never)
    app.service('tasks').hooks({ before: { find: [authenticate('jwt')] } })
    await accounts.addUser({ id: 1, email: 'ada@example.org' })
  })
  t.match(await server.refusal(RED), { status: 401 })
  const headers = bearer(await logIn(server))
  const stream = await server.open(RED, headers)
  await stream.next()
  const gate = new Gate()
  tasks.gate = gate
  await (server.app.service('tasks') as unknown as Emitting).create({ _id: 'a', team: 'red' })
  await gate.arrivals(1)
  const { status } = await server.request('/authentication', { method: 'DELETE', headers })
  t.equal(status, 200)
  gate.open()
  t.match(await stream.rest(), [{ event: 'end', data: { reason: 'expired' } }])
})

t.test('a client that comes back gets a resync and a snapshot', async (t) => {
  const { server, add } = await startTasks(t)
  const stream = await server.open(RED)
  await stream.next()
  await add('red')
  await stream.next()
  await server.leave(stream)
  for (const id of [stream.lastId, 'unknown', `${stream.lastId}x`]) {
    const again = await server.open(RED, { 'last-event-id': id })
    t.strictSame(toLines([await again.next(), await again.next()]), ['resync', 'snapshot'])
    t.strictSame(ids(again.frames[1]?.data), ['red 1'])
  }
})

t.test('$limit: 0 is rejected: there are no events without records', async (t) => {
  const { server } = await startTasks(t)
  t.match(await server.refusal(`${RED}&$limit=0`), {
    status: 406,
    body: { name: 'NotAcceptable', message: /not single events: \$limit must not be 0/ },
  })
  t.equal(server.hub.size, 0)
})

t.test('a result that grows too large ends the stream, with what to do', async (t) => {
  const { server, add } = await startTasks(t, {}, { realtime: { maxRecords: 1 } })
  const stream = await server.open(RED)
  await stream.next()
  await add('red')
  await stream.next()
  await add('red')
  const end = { event: 'end', data: { reason: 'refused', message: /set \$limit/ } }
  t.match(await stream.rest(), [end])
})

t.test('a service that hooks give conditions later goes on by its find', async (t) => {
  let query: Params['query'] = {}
  const restrict = ({ params }: HookContext): void => {
    params.query = query
  }
  const { server, service, add } = await startTasks(t, { before: { find: [restrict] } })
  const stream = await server.open('/tasks')
  await stream.next()
  await add('blue')
  t.match(await stream.next(), { event: 'created', data: { _id: 'blue 1' } })
  query = { team: 'red' }
  recheckStreams(service)
  t.strictSame(toLines([await stream.next(), await stream.next()]), ['resync', 'snapshot'])
  await add('blue')
  await add('red')
  t.strictSame(ids((await stream.next()).data), ['red 3'])
  query = {}
  recheckStreams(service)
  t.match(await stream.next(), { event: 'snapshot', data: [] })
  await add('blue')
  t.match(await stream.next(), { event: 'created', data: { _id: 'blue 4' } })
})

/** A server whose hook sets the result, after it has waited at a gate. */
async function startCache(t: Test, options: LiveServerOptions = {}) {
  const cache: { found: Task[]; gate?: Gate } = { found: [] }
  const read = async (context: HookContext): Promise<void> => {
    const found = [...cache.found]
    await cache.gate?.pass()
    context.result = found as never
  }
  const { server, service } = await startTasks(t, { before: { find: [read] } }, options)
  const put = (_id: string): void => {
    cache.found.push({ _id, team: '' })
    service.emit('created', { _id })
  }
  return { server, cache, put }
}

t.test('a result that a hook sets is set again for each event', async (t) => {
  const { server, cache, put } = await startCache(t)
  const gate = new Gate()
  cache.gate = gate
  const opening = server.open('/tasks')
  await gate.arrivals(1)
  put('a')
  delete cache.gate
  gate.open()
  const stream = await opening
  const frames = await stream.upTo(({ data }) => ids(data).includes('a'))
  t.strictSame(toLines(frames), ['snapshot', 'snapshot'])
  put('b')
  t.strictSame(ids((await stream.next()).data), ['a', 'b'])
})

t.test('streams of results that hooks set count for their caller', async (t) => {
  const { server } = await startCache(t, { realtime: { maxStreamsPerCaller: 1 } })
  await server.open('/tasks')
  t.match(await server.refusal('/tasks'), { status: 429 })
})

t.test('only a page or a list has a stream', async (t) => {
  const server = await startLiveServer(t, (app) => {
    app.use('report', { find: async () => ({ sum: 7 }) } as never)
  })
  t.match(await server.refusal('/report?year=2026'), {
    status: 406,
    body: { message: /find must return a page or a list/ },
  })
  t.equal(server.hub.size, 0)
})

t.test('a service can say that only its find knows, whatever the query', async (t) => {
  const tasks = Object.assign(new Tasks(), {
    id: '_id',
    isFollowed: false,
    isWatched: false,
    followRecords: async () => null,
    locateRecords: () => '',
  })
  const server = await startLiveServer(t, (app) => app.use('tasks', tasks as never))
  const stream = await server.open('/tasks')
  await stream.next()
  await (server.app.service('tasks') as unknown as Emitting).create({ _id: 'a', team: 'red' })
  await until(() => tasks.finds >= 2 && tasks.running === 0)
  await laterTurns()
  t.strictSame(toLines(stream.frames), ['snapshot'], 'no event of a record that find does not show')
})

t.test('a MongoDB service with its own find', async (t) => {
  const { db, empty } = await openDatabase(t)
  await empty('own')
  class OwnFind extends MongoDBService {
    override async find(params: Params = {}): Promise<never> {
      return (await super.find({ ...params, query: { ...params.query, gone: null } })) as never
    }
  }
  const options = { Model: db.collection('own'), paginate: { default: 2 } }
  const server = await startLiveServer(t, (app) => {
    app.use('own', new OwnFind(options))
  })
  const own = server.app.service('own') as unknown as {
    create(data: object): Promise<unknown>
    patch(id: null | string, data: object): Promise<unknown>
  }
  const stream = await server.open('/own')
  t.match(await stream.next(), { data: { total: 0, data: [] } })
  await own.create({ _id: 'a', name: 'a' })
  t.match(await stream.next(), { event: 'snapshot', data: { total: 1, data: [{ name: 'a' }] } })
  await own.patch('a', { gone: 1 })
  t.match(await stream.next(), { event: 'snapshot', data: { total: 0, data: [] } })
  t.match(await server.refusal('/own?$limit=0'), { status: 406 })
})
