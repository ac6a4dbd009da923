import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { recheckStreams } from '../../../src/transport/realtime/index.ts'
import { holdIntervals, stopClock } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { replaceMethods } from '../../support/replaced-methods.ts'
import { until } from '../../support/until.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const collection = db.collection('tasks')

t.beforeEach(() => empty('tasks'))

const LIMIT_MS = 5_000

type Place = 'before' | 'after' | 'read' | 'round'

/** Whether a filter is that of records that have changed. */
function isRound(filter: object = {}): boolean {
  return JSON.stringify(filter).startsWith('{"_id":{"$in"')
}

/** A server in which something waits at a gate: a hook, the read of a snapshot, or that of a round. */
async function startWaitingServer(t: TestScope, handlerTimeoutMs: number) {
  const clock = stopClock(t)
  const timers = holdIntervals(t)
  const gates: { [P in Place]?: Gate } = {}
  const find = (...args: Parameters<typeof collection.find>) => {
    const cursor = Reflect.apply(collection.find, collection, args)
    const { toArray } = cursor
    const place = isRound(args[0]) ? 'round' : 'read'
    cursor.toArray = async () => {
      await gates[place]?.pass()
      return toArray.call(cursor)
    }
    return cursor
  }
  const Model = replaceMethods(collection, { find })
  const server = await startLiveServer(
    t,
    (app) => {
      for (const path of ['tasks', 'shaped']) {
        app.use(path, new MongoDBService({ Model, multi: true }))
        const wait = ({ type }: HookContext) => gates[type as Place]?.pass()
        app.service(path).hooks({ before: { find: [wait] } })
        if (path === 'shaped') app.service(path).hooks({ after: { find: [wait] } })
      }
    },
    { handlerTimeoutMs, realtime: { recheckMs: 1_000_000, heartbeatMs: 1_000_000 } },
  )
  /** Lets some time pass. Timers look when it begins, and when it is over. */
  const pass = (ms: number): void => {
    timers.fire()
    clock.advance(ms)
    timers.fire()
  }
  return { server, gates, pass }
}

interface Hang {
  readonly path: string
  readonly place: Place
  /** Has a stream come there. */
  reach(service: object): unknown
}

const change = (service: object): unknown =>
  (service as { patch(...args: unknown[]): unknown }).patch(
    null,
    { done: true },
    { docdb: { returning: false } },
  )

const create = (service: object): unknown =>
  (service as { create(data: object): unknown }).create({ name: 'a' })

const hangs: Readonly<Record<string, Hang>> = {
  'a hook in a recheck': { path: 'tasks', place: 'before', reach: recheckStreams },
  'a hook in a snapshot': { path: 'shaped', place: 'after', reach: change },
  'the read of a shared snapshot': { path: 'tasks', place: 'read', reach: change },
  'the read of a snapshot that hooks shape': { path: 'shaped', place: 'read', reach: change },
  'a hook that shows a record': { path: 'shaped', place: 'after', reach: create },
}

for (const [what, { path, place, reach }] of Object.entries(hangs)) {
  t.test(`${what} that hangs ends the stream, and the client may come back`, async (t) => {
    const { server, gates, pass } = await startWaitingServer(t, LIMIT_MS)
    const stream = await server.open(`/${path}`)
    await stream.next()
    const gate = new Gate()
    gates[place] = gate
    await reach(server.app.service(path))
    await gate.arrivals(1)
    pass(LIMIT_MS)
    const frames = await stream.upTo(({ event }) => event === 'end')
    t.strictSame(frames.at(-1)?.data, { reason: 'closing' })
    const failed = server.logged.filter(({ message }) => /stream has failed/.test(`${message}`))
    t.match(failed, [{ details: { err: { message: `No answer within ${LIMIT_MS} ms` } } }])
    delete gates[place]
    const again = await server.open(`/${path}`, { 'last-event-id': stream.lastId })
    t.strictSame((await linesSoFar(again, server.app.service(path))).includes('end'), false)
    gate.open()
  })
}

t.test('a read for all streams that hangs is given up, and done again', async (t) => {
  const { server, gates, pass } = await startWaitingServer(t, LIMIT_MS)
  const stream = await server.open('/tasks')
  await stream.next()
  const gate = new Gate()
  gates.round = gate
  await create(server.app.service('tasks'))
  await gate.arrivals(1)
  pass(LIMIT_MS)
  await until(() => server.logged.some(({ message }) => /could not be sent/.test(`${message}`)))
  delete gates.round
  pass(1)
  t.match(await stream.next(), { event: 'created', data: { name: 'a' } })
  gate.open()
})

t.test('streams have a time limit where calls have none', async (t) => {
  const { server, gates, pass } = await startWaitingServer(t, 0)
  const stream = await server.open('/tasks')
  await stream.next()
  const gate = new Gate()
  gates.before = gate
  recheckStreams(server.app.service('tasks'))
  await gate.arrivals(1)
  pass(29_000)
  t.strictSame(stream.frames.length, 1)
  pass(1_000)
  t.match(await stream.next(), { event: 'end', data: { reason: 'closing' } })
  gate.open()
})
