import type { Document, ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { MethodEntry } from '../../../src/core/index.ts'
import { EVERYTHING, EventLog, RECHECK } from '../../../src/transport/realtime/event-log.ts'
import { Round, toKey } from '../../../src/transport/realtime/round.ts'
import { Turns } from '../../../src/transport/realtime/turns.ts'
import { stopClock } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import type { EventFrames } from '../../support/event-frames.ts'
import { until } from '../../support/until.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')

t.beforeEach(() => empty('tasks'))

t.test('other work has its turn between the streams that an event is judged for', async (t) => {
  const order: string[] = []
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })))
  const clock = stopClock(t)
  server.app.service('a').publish(() => {
    order.push('stream')
    setImmediate(() => order.push('other'))
    clock.advance(1_000)
    return true
  })
  const streams: EventFrames[] = []
  for (let n = 0; n < 4; n += 1) streams.push(await server.open(`/a?n[$ne]=${n}`))
  for (const stream of streams) await stream.next()
  await server.app.service('a').create({ name: 'a' } as never)
  for (const stream of streams) t.equal((await stream.next()).data.name, 'a')
  t.strictSame(
    order.join().slice(0, 'stream,other,stream,other'.length),
    'stream,other,stream,other',
  )
})

t.test('other work has its turn between the events that one stream is told of', async (t) => {
  const order: string[] = []
  const server = await startLiveServer(t, (app) => {
    for (const path of ['a', 'shaped']) app.use(path, new MongoDBService({ Model, multi: true }))
    app.service('shaped').hooks({ after: { find: [() => undefined] } })
  })
  const clock = stopClock(t)
  for (const path of ['a', 'shaped']) {
    const service = server.app.service(path)
    service.publish(() => {
      order.push('event')
      setImmediate(() => order.push('other'))
      clock.advance(1_000)
      return true
    })
    const stream = await server.open(`/${path}`)
    await stream.next()
    order.splice(0)
    await service.create([{ name: 'a' }, { name: 'b' }, { name: 'c' }] as never)
    await stream.upTo(({ data }) => data.name === 'c')
    t.match(order.join(), /^event,other,event,other,event/, path)
  }
})

t.test('no stream is told of a record as it was before a change that is known', async (t) => {
  const faults: string[] = []
  let isMoved = false
  let moving: Promise<unknown> | null = null
  const server = await startLiveServer(t, (app) => app.use('a', new MongoDBService({ Model })))
  const clock = stopClock(t)
  const service = server.app.service('a')
  service.publish((record) => {
    const { _id, team, name } = record as { _id: ObjectId; team: string; name: string }
    clock.advance(1_000)
    if (isMoved && team === 'blue' && name === 'a') faults.push('blue')
    moving ??= service.patch(_id, { team: 'red' } as never)
    return true
  })
  service.on('patched', () => {
    isMoved = true
  })
  const streams: EventFrames[] = []
  for (let n = 0; n < 50; n += 1) streams.push(await server.open(`/a?team=blue&n[$ne]=${n}`))
  for (const stream of streams) await stream.next()
  await service.create({ team: 'blue', name: 'a' } as never)
  await until(() => moving)
  await moving
  for (const stream of streams) {
    const lines = (await linesSoFar(stream, service, { team: 'blue' })).filter(
      (line) => !/fence/.test(line),
    )
    t.ok(lines.length === 0 || /^created a,left/.test(lines.join()), lines.join())
  }
  t.strictSame(faults, [])
})

const METHOD = { entry: {} } as MethodEntry
/** When events were published: it is never too long ago. */
const NEVER_EXPIRES = Number.MAX_SAFE_INTEGER

const LIMITS = { bufferEvents: 10, bufferMs: 60_000, overlapMs: 0 }

/** Returns a round of one event of each of the ids 1 and 2, which takes a turn with each look. */
function createRound(): { log: EventLog; round: Round; find: (id: number) => object | undefined } {
  const log = new EventLog(LIMITS, 'base')
  for (const id of [1, 2]) log.append({ name: 'patched', id, place: 'p' }, `${id}`, NEVER_EXPIRES)
  const records = new Map([1, 2].map((id) => [toKey(id), { id }] as const))
  const events = log.since(0) ?? []
  const round = new Round(METHOD, log, new Turns(), events, new Map([['p', records]]))
  const view = { place: 'p' } as never
  const find = (id: number): object | undefined => round.recordOf(events[id - 1] as never, view)
  return { log, round, find }
}

t.test('what changes between turns is left to the next round', async (t) => {
  stopClock(t)
  const { log, round, find } = createRound()
  t.ok(await round.rest())
  t.notOk(round.isTiring)
  log.append({ name: 'updated', id: 1, place: Promise.resolve('p') }, '3', NEVER_EXPIRES)
  t.ok(round.isTiring)
  t.ok(await round.rest())
  t.equal(find(1), undefined)
  t.strictSame(find(2), { id: 2 })
})

t.test('an event of the service itself leaves the record to this round', async (t) => {
  const { log, round, find } = createRound()
  log.append({ name: 'rung', id: 1, place: 'p', record: {} as Document }, '3', NEVER_EXPIRES)
  t.ok(await round.rest())
  t.strictSame(find(1), { id: 1 })
})

t.test('a round ends where nobody knows what has changed, or rights come first', async (t) => {
  for (const event of [EVERYTHING, { ...EVERYTHING, name: RECHECK }]) {
    const { log, round } = createRound()
    log.append(event, '3', NEVER_EXPIRES)
    t.notOk(await round.rest(), event.name)
  }
  const { log, round } = createRound()
  for (let id = 0; id < 20; id += 1)
    log.append({ name: 'patched', id, place: 'p' }, `${id}`, NEVER_EXPIRES)
  t.notOk(await round.rest(), 'the log has forgotten some')
})

t.test('each piece of work has a turn of its own, in the order of asking', async (t) => {
  const order: string[] = []
  const turns = new Turns()
  const work = async (name: string): Promise<void> => {
    await turns.next()
    order.push(name)
    setImmediate(() => order.push('other'))
  }
  await Promise.all([work('a'), work('b'), work('c')])
  t.equal(
    order.slice(0, 4).join(),
    'a,b,other,c',
    'what is set up in a turn comes before the one after the next',
  )
})
