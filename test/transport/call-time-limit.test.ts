import t from 'tap'

import { TimeLimit } from '../../src/transport/call-time-limit.ts'
import { holdIntervals, stopClock } from '../support/clock.ts'
import type { TestScope } from '../support/http.ts'

const LIMIT_MS = 1_000
const STEP_MS = 50

/** A time limit of one second with a clock and a timer that the test moves on. */
function open(t: TestScope): {
  start(name: string): () => void
  /** Moves the clock on and fires the timer once, as a busy process does. */
  wait(ms: number): string[]
} {
  const clock = stopClock(t)
  const timers = holdIntervals(t)
  const limit = new TimeLimit(LIMIT_MS)
  const told: string[] = []
  t.teardown(() => limit.close())
  return {
    start(name) {
      const call = limit.start(() => told.push(name))
      return () => call.endWatch()
    },
    wait(ms) {
      clock.advance(ms)
      timers.fire()
      return told.splice(0)
    },
  }
}

t.test('a call is told once, at the limit or up to a tenth later', async (t) => {
  const { start, wait } = open(t)
  start('first')
  for (let ms = 0; ms < LIMIT_MS; ms += STEP_MS) t.strictSame(wait(STEP_MS), [], `${ms}`)
  t.strictSame(wait(STEP_MS), ['first'])
  for (let ms = 0; ms < 2 * LIMIT_MS; ms += STEP_MS) t.strictSame(wait(STEP_MS), [], `${ms}`)
})

t.test('a call that has ended is not told', async (t) => {
  const { start, wait } = open(t)
  const ends = ['first', 'second', 'third'].map(start)
  ends[1]?.()
  ends[1]?.()
  for (let ms = 0; ms < LIMIT_MS; ms += STEP_MS) t.strictSame(wait(STEP_MS), [], `${ms}`)
  t.strictSame(wait(STEP_MS).toSorted(), ['first', 'third'])
})

t.test('calls that begin while the timer is late have all of their time', async (t) => {
  for (const late of [2 * STEP_MS, LIMIT_MS - STEP_MS, LIMIT_MS, 5 * LIMIT_MS]) {
    const { start, wait } = open(t)
    start('before')
    wait(STEP_MS)
    start('during')
    const told = wait(late)
    t.strictSame(told, late < LIMIT_MS ? [] : ['before'], `${late} ms late`)
    const later = Array.from({ length: 22 }, () => wait(STEP_MS))
    t.strictSame(later.slice(0, 19).flat().includes('during'), false, `${late} ms late`)
    t.strictSame(later[19], ['during'], `${late} ms late`)
  }
})

t.test('a call is told in a process that is late for each of its timers', async (t) => {
  const { start, wait } = open(t)
  start('first')
  const lateMs = 3 * STEP_MS
  const told = Array.from({ length: 3 * (LIMIT_MS / lateMs) }, () => wait(lateMs))
  const index = told.findIndex((names) => names.includes('first'))
  t.ok(index * lateMs >= LIMIT_MS && index * lateMs <= LIMIT_MS + lateMs, `look ${index}`)
})

t.test('a call that begins at the end of a late step has all of its time', async (t) => {
  const clock = stopClock(t)
  const timers = holdIntervals(t)
  const limit = new TimeLimit(LIMIT_MS)
  t.teardown(() => limit.close())
  let toldAfterMs: number | null = null
  let passedMs = 0
  const pass = (ms: number): void => {
    clock.advance(ms)
    passedMs += ms
  }
  limit.start(() => undefined).endWatch()
  pass(2 * STEP_MS - 10)
  limit.start(() => {
    toldAfterMs = passedMs - (2 * STEP_MS - 10)
  })
  // The timer of the first step, nearly a step late; from now on it is on time.
  pass(5)
  timers.fire()
  pass(5)
  while (toldAfterMs === null) {
    timers.fire()
    pass(STEP_MS)
  }
  t.ok(toldAfterMs >= LIMIT_MS, `told after ${toldAfterMs} ms`)
  t.ok(toldAfterMs <= LIMIT_MS + 2 * STEP_MS, `told after ${toldAfterMs} ms`)
})

t.test('work settles as it does within the limit, and fails at it', async (t) => {
  const clock = stopClock(t)
  const timers = holdIntervals(t)
  const limit = new TimeLimit(LIMIT_MS)
  t.teardown(() => limit.close())
  t.equal(await limit.run(async () => 'done'), 'done')
  const error = new Error('no')
  await t.rejects(
    limit.run(() => Promise.reject(error)),
    error,
  )
  const hanging = limit.run(() => new Promise(() => undefined))
  timers.fire()
  clock.advance(LIMIT_MS)
  timers.fire()
  await t.rejects(hanging, { name: 'Timeout', message: 'No answer within 1000 ms' })
})
