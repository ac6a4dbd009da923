import t from 'tap'
import { EventLog } from '../../../src/transport/realtime/event-log.ts'
import { leadClock } from '../../support/clock.ts'
import type { TestScope } from '../../support/http.ts'

const HOUR_MS = 3_600_000

/** Returns a log of four events, and what appends to it and asks it. */
function createLog(t: Pick<TestScope, 'teardown'>, overlapMs = 5_000) {
  const clock = leadClock(t)
  const log = new EventLog({ bufferEvents: 4, bufferMs: 60_000, overlapMs }, 'base')
  const append = (position: string, storedAt?: number): void => {
    log.append({ name: 'created', id: position, place: '' }, position, storedAt)
  }
  /** Returns the positions of what a client is told that comes back. */
  const toldTo = (position: string): string[] | null => {
    const sequence = log.fromPosition(position)
    return sequence === null ? null : (log.since(sequence) ?? []).map((event) => event.position)
  }
  return { log, append, toldTo, clock }
}

t.test('how long an event is kept is measured by the clock of the process alone', async (t) => {
  const { log, append, clock } = createLog(t)
  for (const storedAt of [HOUR_MS, -HOUR_MS, undefined]) {
    append('new', storedAt)
    t.equal(log.since(log.last - 1)?.length, 1, `${storedAt}`)
  }
  clock.advance(60_001)
  t.equal(log.fromPosition('new'), null)
  append('new', 0)
  t.equal(log.size, 1)
})

t.test('who comes back is told of what others may have had later', async (t) => {
  const { append, toldTo } = createLog(t)
  append('old', 10_000)
  append('near', 16_000)
  append('found', 20_000)
  t.strictSame(toldTo('base'), ['old', 'near', 'found'])
  t.strictSame(toldTo('found'), ['near', 'found'])
  append('after', 21_000)
  append('later', 22_000)
  t.strictSame(toldTo('near'), ['near', 'found', 'after', 'later'])
  append('last', 30_000)
  t.equal(toldTo('found'), null, 'what was stored shortly before it is forgotten')
  t.strictSame(toldTo('last'), ['last'])
})

t.test('an event whose time is not known may be any time since the one before', async (t) => {
  const { log, append, toldTo } = createLog(t)
  append('old', 10_000)
  append('own')
  append('found', HOUR_MS)
  t.strictSame(toldTo('found'), ['own', 'found'])
  log.confirm('own', 11_000)
  t.strictSame(toldTo('found'), ['found'])
  append('own too')
  t.strictSame(toldTo('own too'), ['found', 'own too'])
  append('next')
  t.strictSame(toldTo('own too'), ['found', 'own too', 'next'])
})

t.test('a client of now lacks nothing of what was forgotten long ago', async (t) => {
  const { log, append, toldTo, clock } = createLog(t)
  for (const position of ['a', 'b']) append(position, 10_000)
  append('late')
  clock.advance(60_001)
  append('own')
  t.equal(toldTo('own'), null, 'as long as its time is not known')
  log.confirm('own', HOUR_MS)
  t.strictSame(toldTo('own'), ['own'])
  log.confirm('late', HOUR_MS - 1)
  t.equal(toldTo('own'), null)
})

t.test('without a bus the order is the same everywhere', async (t) => {
  const { append, toldTo } = createLog(t, 0)
  for (const position of ['a', 'b', 'c', 'd', 'e']) append(position)
  t.strictSame(toldTo('a'), ['b', 'c', 'd', 'e'])
  t.strictSame(toldTo('d'), ['e'])
  t.equal(toldTo('base'), null)
})
