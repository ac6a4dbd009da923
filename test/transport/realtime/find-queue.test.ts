import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { BadGateway, GeneralError, Timeout, Unavailable } from '../../../src/core/index.ts'
import { persist } from '../../../src/transport/realtime/find-queue.ts'
import type { RealtimeOptions } from '../../../src/transport/realtime/index.ts'
import { recheckStreams } from '../../../src/transport/realtime/index.ts'
import type { HeldTimers } from '../../support/clock.ts'
import { holdTimers } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { replaceMethods } from '../../support/replaced-methods.ts'
import { laterTurns, until } from '../../support/until.ts'
import type { LiveServer } from './live-server.ts'
import { linesSoFar, startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const MANY = 30
const FIRST_WAIT_MS = 1_000

t.beforeEach(() => empty('tasks'))

type Hook = (context: HookContext) => unknown

/** A server whose hook before `find` a test can change, with two services. */
async function startHookedServer(t: TestScope, realtime: RealtimeOptions = {}) {
  const hooks: { before?: Hook; after?: Hook } = {}
  const server = await startLiveServer(
    t,
    (app) => {
      for (const path of ['tasks', 'shaped', 'other'])
        app.use(path, new MongoDBService({ Model, multi: true }))
      const before = (context: HookContext): unknown => hooks.before?.(context)
      app.service('tasks').hooks({ before: { find: [before as never] } })
      const after = (context: HookContext): unknown => hooks.after?.(context)
      app.service('shaped').hooks({ after: { find: [after as never] } })
    },
    { handlerTimeoutMs: 0, realtime: { recheckMs: 1_000_000, ...realtime } },
  )
  return { server, hooks, tasks: server.app.service('tasks') }
}

async function openMany(server: LiveServer, path: string) {
  const streams = await Promise.all(Array.from({ length: MANY }, () => server.open(path)))
  await Promise.all(streams.map((stream) => stream.next()))
  return streams
}

/** Has all streams of a service get a new snapshot. */
async function change(service: object): Promise<void> {
  const { patch } = service as { patch(id: null, data: object, params: object): Promise<unknown> }
  await patch.call(service, null, { done: true }, { docdb: { returning: false } })
}

t.test('the streams of a service look up their rights a few at a time', async (t) => {
  const { server, hooks, tasks } = await startHookedServer(t)
  const streams = await openMany(server, '/tasks')
  const gate = new Gate()
  hooks.before = () => gate.pass()
  recheckStreams(tasks)
  await gate.arrivals(1)
  await laterTurns(100)
  t.ok(gate.arrived < MANY / 2, `${gate.arrived} at once`)
  gate.open()
  await gate.arrivals(MANY)
  await tasks.create({ name: 'told' } as never)
  for (const stream of streams) t.match(await stream.next(), { data: { name: 'told' } })
})

t.test('snapshots of a service whose hooks shape them are read a few at a time', async (t) => {
  const { server, hooks } = await startHookedServer(t)
  const streams = await openMany(server, '/shaped')
  const gate = new Gate()
  hooks.after = () => gate.pass()
  await change(server.app.service('shaped'))
  await gate.arrivals(1)
  await laterTurns(100)
  t.ok(gate.arrived < MANY / 2, `${gate.arrived} at once`)
  gate.open()
  for (const stream of streams) {
    t.strictSame(toLines([await stream.next(), await stream.next()]), ['resync', 'snapshot'])
  }
})

t.test('a service whose hooks hang has the streams of others go on', async (t) => {
  const { server, hooks, tasks } = await startHookedServer(t)
  await openMany(server, '/tasks')
  const stream = await server.open('/other')
  await stream.next()
  const gate = new Gate()
  hooks.before = () => gate.pass()
  recheckStreams(tasks)
  await gate.arrivals(1)
  const other = server.app.service('other')
  recheckStreams(other)
  await change(other)
  t.strictSame(toLines([await stream.next(), await stream.next()]), ['resync', 'snapshot'])
  gate.open()
})

t.test('a stream that waits for its turn still gets heartbeats', async (t) => {
  const { server, hooks } = await startHookedServer(t, { recheckMs: 10, heartbeatMs: 10 })
  const stream = await server.open('/tasks')
  await stream.next()
  const gate = new Gate()
  hooks.before = () => gate.pass()
  await gate.arrivals(1)
  const { comments } = stream
  await until(() => stream.comments > comments + 3)
  gate.open()
  t.strictSame(toLines(stream.frames), ['snapshot'])
})

for (const error of [new Unavailable('Away'), new BadGateway('Away')]) {
  t.test(`nothing is sent while rights can't be looked up: ${error.name}`, async (t) => {
    const timers = holdTimers(t, FIRST_WAIT_MS)
    const { server, hooks, tasks } = await startHookedServer(t)
    const stream = await server.open('/tasks')
    await stream.next()
    hooks.before = () => {
      throw error
    }
    recheckStreams(tasks)
    await until(() => timers.size === 1)
    await tasks.create({ name: 'late' } as never)
    await laterTurns()
    t.strictSame(toLines(stream.frames), ['snapshot'])
    delete hooks.before
    timers.fire()
    t.match(await stream.next(), { event: 'created', data: { name: 'late' } })
    t.equal(server.logged.filter(({ message }) => /A stream waits/.test(`${message}`)).length, 1)
  })
}

t.test('a snapshot that fails while the database is away ends no stream', async (t) => {
  const timers = holdTimers(t, FIRST_WAIT_MS)
  let fails = false
  const find = (...args: unknown[]): unknown => {
    if (fails) throw new Unavailable('Away')
    return Reflect.apply(Model.find, Model, args)
  }
  const failing = replaceMethods(Model, { find })
  const server = await startLiveServer(t, (app) => {
    for (const path of ['tasks', 'shaped'])
      app.use(path, new MongoDBService({ Model: failing, multi: true }))
    app.service('shaped').hooks({ after: { find: [() => undefined] } })
  })
  for (const path of ['tasks', 'shaped']) {
    const streams = await openMany(server, `/${path}`)
    fails = true
    await change(server.app.service(path))
    await until(() => timers.size === MANY)
    fails = false
    timers.fire()
    for (const stream of streams) {
      t.strictSame(toLines([await stream.next(), await stream.next()]), ['resync', 'snapshot'])
    }
  }
})

t.test('a hook that fails while it shows a record has the stream begin anew', async (t) => {
  const { server, hooks } = await startHookedServer(t)
  const stream = await server.open('/shaped')
  await stream.next()
  hooks.after = () => {
    delete hooks.after
    throw new Unavailable('Away')
  }
  const shaped = server.app.service('shaped')
  await shaped.create({ name: 'a' } as never)
  const frames = await stream.upTo(({ event }) => event === 'snapshot')
  t.match(frames, [{ event: 'resync' }, { data: [{ name: 'a' }] }])
  t.strictSame(await linesSoFar(stream, shaped), [])
})

/** Holds the timers of all waits. */
function holdWaits(t: TestScope): HeldTimers[] {
  return [1, 2, 4, 8, 16, 30].map((seconds) => holdTimers(t, seconds * 1_000))
}

t.test('what is away for long fails in the end, after longer and longer waits', async (t) => {
  const waits = holdWaits(t)
  const counts: number[] = []
  let isOver = false
  const failing = persist(
    async () => {
      throw new Unavailable('Away')
    },
    () => true,
  ).finally(() => {
    isOver = true
  })
  const over = t.rejects(failing, { code: 503 })
  while (!isOver) {
    await laterTurns(3)
    counts.push(waits.findIndex(({ size }) => size > 0))
    for (const wait of waits) wait.fire()
  }
  await over
  t.strictSame(counts.slice(0, 8), [0, 1, 2, 3, 4, 5, 5, 5])
})

for (const error of [new Timeout('Slow'), new GeneralError('A fault'), new TypeError('A fault')]) {
  t.test(`what fails by ${error.name} is not tried again`, async (t) => {
    let calls = 0
    const work = async (): Promise<void> => {
      calls += 1
      throw error
    }
    await t.rejects(
      persist(work, () => true),
      error,
    )
    t.equal(calls, 1)
  })
}

t.test('what nobody waits for any more is not tried again', async (t) => {
  const error = new Unavailable('Away')
  await t.rejects(
    persist(
      () => Promise.reject(error),
      () => false,
    ),
    error,
  )
})
