import type { Collection } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService, transaction } from '../../../src/adapter/index.ts'
import type { JobHandler, JobParams, JobsOptions } from '../../../src/adapter/jobs/index.ts'
import { jobs } from '../../../src/adapter/jobs/index.ts'
import { Postponed } from '../../../src/adapter/jobs/job-handlers.ts'
import type { AnyApplication } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { holdIntervals, stopClock } from '../../support/clock.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { replaceMethods } from '../../support/replaced-methods.ts'
import { laterTurns, until } from '../../support/until.ts'

const { db, empty } = await openDatabase(t)

t.beforeEach(async () => {
  await empty('jobs')
  await empty('notes')
})

/** The jobs that are stored. */
const stored = () => db.collection('jobs').find().sort({ name: 1 }).toArray()

const dead = async (app: AnyApplication) => (await app.jobs.find({ query: { state: 'dead' } })).data

/** A date so late that every stored job is due. */
const LATER = new Date('2100-01-01')

type Handlers = Readonly<Record<string, JobHandler<never> | JobHandler<never>['run']>>

/** Starts an application with these handlers, which runs jobs only when it is told to. */
async function start(t: Test, handlers: Handlers, options: Partial<JobsOptions> = {}) {
  const logged: unknown[] = []
  const app = createApp()
  app.logger = { ...console, error: (details) => logged.push(details) }
  app.configure(
    jobs({
      ...{ collection: db.collection('jobs'), handlers: handlers as JobsOptions['handlers'] },
      ...{ start: false, pollMs: 20, ...options },
    }),
  )
  app.use('notes', new MongoDBService({ Model: db.collection('notes') }))
  await app.setup()
  t.teardown(() => app.teardown())
  return { app, logged }
}

t.test('runs what was enqueued, with its data and the request that enqueued it', async (t) => {
  const calls: unknown[] = []
  const { app } = await start(t, {
    greet: async (data, params) => void calls.push([data, params]),
  })
  const data = { to: 'ann', $set: '$$NOW' }
  const id = await app.jobs.enqueue('greet', data, { params: { requestId: 'req-1' } })
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.match(calls, [[data, { requestId: 'req-1', job: { id, name: 'greet', attempt: 1 } }]])
  t.equal((calls as never[][])[0]?.[1]?.['provider'], undefined)
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  t.equal(await db.collection('jobs').countDocuments(), 0)
})

t.test('a job of a transaction runs after the commit, never after an abort', async (t) => {
  const { app } = await start(t, { greet: async () => undefined })
  const write = async (isAborted: boolean) =>
    transaction(app, async () => {
      await app.service('notes').create({ text: 'a' })
      await app.jobs.enqueue('greet', {})
      t.strictSame(await app.jobs.run(), { done: 0, failed: 0 }, 'not visible before the commit')
      if (isAborted) throw new Error('no')
    })
  await t.rejects(write(true), { message: 'no' })
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  await write(false)
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
})

t.test('takes the session of the params', async (t) => {
  const { app } = await start(t, { greet: async () => undefined })
  const session = db.client.startSession()
  t.teardown(() => session.endSession())
  session.startTransaction()
  await app.jobs.enqueue('greet', {}, { params: { docdb: { session } } })
  await app.jobs.enqueue('greet', {}, { params: { mongodb: { session } } })
  await session.abortTransaction()
  t.strictSame(await stored(), [])
})

t.test(
  'JOB-4: a job that fails is tried again later, and is dead after its last attempt',
  async (t) => {
    const attempts: number[] = []
    const { app, logged } = await start(t, {
      greet: {
        attempts: 2,
        backoffMs: (attempt) => attempt * 60_000,
        run: async (_data, { job }) => {
          attempts.push(job.attempt)
          throw new Error(`no. ${job.attempt}`)
        },
      },
    })
    const id = await app.jobs.enqueue('greet', {}, { key: 'ann', params: { requestId: 'req-1' } })
    t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
    t.match(await stored(), [{ state: 'open', attempts: 1, error: 'Error: no. 1', lease: null }])
    t.match(logged, [{ err: { message: 'no. 1' }, job: { id, attempt: 1 }, requestId: 'req-1' }])
    t.strictSame(await app.jobs.run(), { done: 0, failed: 0 }, 'it is not due before a minute')
    t.strictSame(await app.jobs.run({ at: LATER }), { done: 0, failed: 1 })
    t.match(await dead(app), [{ name: 'greet', error: 'Error: no. 2', attempts: 2 }])
    t.strictSame(await app.jobs.run({ at: LATER }), { done: 0, failed: 0 })
    t.strictSame(attempts, [1, 2])
    const other = await app.jobs.enqueue('greet', {}, { key: 'ann' })
    t.not(other, id, 'its key is free again')
    await app.jobs.remove(other)
    await app.jobs.patch(id, { state: 'open', attempts: 0 })
    t.strictSame(await dead(app), [])
    t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  },
)

t.test('stores one waiting job of a key, however many enqueue it', async (t) => {
  const runs: unknown[] = []
  const gate = new Gate()
  const handlers: Handlers = {
    greet: async (data) => {
      runs.push(data)
      await gate.pass()
    },
    other: async () => undefined,
  }
  const { app } = await start(t, handlers)
  const { app: second } = await start(t, handlers)
  const ids = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      (index % 2 ? app : second).jobs.enqueue('greet', { index }, { key: 'ann' }),
    ),
  )
  t.equal(new Set(ids).size, 1)
  t.not(await app.jobs.enqueue('greet', {}, { key: 'bob' }), ids[0])
  t.not(await app.jobs.enqueue('other', {}, { key: 'ann' }), ids[0])
  const running = app.jobs.run()
  await gate.arrivals(1)
  t.not(
    await app.jobs.enqueue('greet', {}, { key: 'ann' }),
    ids[0],
    'one that runs may have read already what has changed',
  )
  gate.open()
  await running
  t.equal(runs.length, 3)
})

t.test('runs due jobs by priority, then by the time they are due', async (t) => {
  const order: unknown[] = []
  const { app } = await start(t, { greet: async (data) => void order.push(data) })
  await app.jobs.enqueue('greet', 'second', { due: new Date(2) })
  await app.jobs.enqueue('greet', 'first', { due: new Date(1) })
  await app.jobs.enqueue('greet', 'urgent', { priority: 1 })
  await app.jobs.enqueue('greet', 'late', { due: 3_600_000 })
  await app.jobs.enqueue('greet', 'later', { due: LATER })
  await app.jobs.run()
  t.strictSame(order, ['urgent', 'first', 'second'])
  await app.jobs.run({ at: LATER })
  t.strictSame(order.slice(3), ['late', 'later'])
})

t.test('runs what the job of a killed process has left, and counts its attempt', async (t) => {
  const handlers: Handlers = {
    greet: { attempts: 2, run: async (_data, { job }) => void attempts.push(job.attempt) },
  }
  const attempts: number[] = []
  const { app, logged } = await start(t, handlers)
  await app.jobs.enqueue('greet', {})
  // What a process leaves that was killed during an attempt.
  const left = { lease: 'of a killed process', attempts: 1, runAt: LATER }
  await db.collection('jobs').updateMany({}, { $set: left })
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 }, 'its lease has not ended')
  await db.collection('jobs').updateMany({}, { $set: { runAt: new Date(0) } })
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.strictSame(attempts, [2])
  await app.jobs.enqueue('greet', {})
  await db.collection('jobs').updateMany({}, { $set: { ...left, attempts: 2, runAt: new Date(0) } })
  t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  t.match(await dead(app), [{ error: /process ended/ }], 'a job that kills its process ends')
  t.equal(logged.length, 1)
  t.strictSame(attempts, [2])
})

t.test(
  'JOB-4: an attempt that has lost its lease stores nothing, and its signal aborts',
  async (t) => {
    const gate = new Gate()
    const signals: AbortSignal[] = []
    const { app } = await start(
      t,
      {
        greet: async (_data, { job }) => {
          signals.push(job.signal)
          await gate.pass()
        },
      },
      { leaseMs: 3_000 },
    )
    await app.jobs.enqueue('greet', {})
    const running = app.jobs.run()
    await gate.arrivals(1)
    const own = (await stored())[0]?.['runAt'] as Date
    await until(async () => ((await stored())[0]?.['runAt'] as Date) > own, running)
    t.notOk(signals[0]?.aborted, 'it extends its lease')
    const taken = { lease: 'of another process', runAt: LATER }
    await db.collection('jobs').updateMany({}, { $set: taken })
    t.strictSame(await running, { done: 0, failed: 1 })
    t.ok(signals[0]?.aborted)
    t.match(await stored(), [taken])
    gate.open()
  },
)

t.test('JOB-4: ends an attempt that takes too long', async (t) => {
  const { app } = await start(t, {
    hang: { timeoutMs: 5, run: () => new Promise(() => undefined) },
  })
  await app.jobs.enqueue('hang', {})
  t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  t.match(await stored(), [{ error: /not ended within 5 ms/, attempts: 1, lease: null }])
})

t.test('close waits for running jobs, and then leaves them to others', async (t) => {
  const gate = new Gate()
  const handlers: Handlers = {
    short: async () => gate.pass(),
    long: async (_data, { job }) => {
      await gate.pass()
      await new Promise((resolve) => job.signal.addEventListener('abort', resolve))
    },
  }
  const { app } = await start(t, handlers, { start: true, drainMs: 0 })
  await app.jobs.enqueue('long', {})
  await app.jobs.enqueue('short', {})
  await gate.arrivals(2)
  gate.open()
  await until(async () => (await stored()).length === 1)
  await app.teardown()
  t.match(await stored(), [{ name: 'long', state: 'open', attempts: 0, lease: null }])
  await app.jobs.enqueue('short', {})
  await laterTurns()
  t.equal((await stored()).length, 2, 'it begins no more')

  const patient = await start(t, { slow: async () => slow.pass() }, { start: true })
  const slow = new Gate()
  await patient.app.jobs.enqueue('slow', {})
  await slow.arrivals(1)
  const closing = patient.app.teardown()
  await laterTurns()
  slow.open()
  await closing
  t.notOk(
    (await stored()).some(({ name }) => name === 'slow'),
    'it has ended',
  )
})

t.test('runs at most as many jobs at once as it may', async (t) => {
  const gate = new Gate()
  let [running, most] = [0, 0]
  const run = async () => {
    running += 1
    most = Math.max(most, running)
    await gate.pass()
    running -= 1
  }
  const { app } = await start(t, { greet: run }, { start: true, concurrency: 3 })
  await Promise.all(Array.from({ length: 20 }, () => app.jobs.enqueue('greet', {})))
  await gate.arrivals(3)
  await laterTurns()
  t.equal(gate.arrived, 3)
  gate.open()
  await until(async () => (await stored()).length === 0)
  t.equal(most, 3)
  t.equal(gate.arrived, 20)
})

t.test('a schedule runs once at each of its times, over all processes', async (t) => {
  const due: number[] = []
  const handlers: Handlers = {
    tick: { schedule: 40, run: async (data, { job }) => void due.push(job.dueAt.getTime(), data) },
  }
  for (let process = 0; process < 3; process += 1) {
    await start(t, handlers, { start: true, pollMs: 7 })
  }
  await until(() => due.length >= 10)
  const times = due.filter((value) => value !== null)
  t.equal(due.length, 2 * times.length, 'its data is null')
  t.strictSame([...new Set(times)], times)
  t.ok(times.every((time) => time % 40 === 0))
  t.equal(await db.collection('jobs').countDocuments(), 1)
})

t.test('takes the times of a schedule from an object such as that of croner', async (t) => {
  const asked: Date[] = []
  const schedule = {
    nextRun: (after: Date) => {
      asked.push(after)
      return new Date(3_000_000_000_000)
    },
  }
  let fails = false
  const run = async () => {
    if (fails) throw new Error('no')
  }
  const { app } = await start(t, { tick: { schedule, run, attempts: 1 } })
  t.match(await stored(), [{ name: 'tick', runAt: new Date(3_000_000_000_000) }])
  await start(t, { tick: { schedule: { nextRun: () => new Date(2_900_000_000_000) }, run } })
  t.match(await stored(), [{ runAt: new Date(2_900_000_000_000) }], 'an earlier time wins')
  await start(t, { tick: { schedule, run } })
  t.match(await stored(), [{ runAt: new Date(2_900_000_000_000) }])
  fails = true
  await db.collection('jobs').updateMany({}, { $set: { runAt: new Date(0) } })
  t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  t.match(await stored(), [
    { state: 'open', attempts: 0, error: 'Error: no', runAt: new Date(3_000_000_000_000) },
  ])
  fails = false
  await db.collection('jobs').updateMany({}, { $set: { runAt: new Date(0) } })
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.match(await stored(), [{ error: null }])
  t.ok(
    asked.every((time) => time > new Date('2026-01-01')),
    'after the time of the server',
  )
  const passed = { nextRun: () => new Date('2001-01-01') }
  await start(t, { tick: { schedule: passed, run } })
  t.match(await stored(), [{ runAt: new Date(3_000_000_000_000) }], 'no time is run again')
  await start(t, { never: { schedule: { nextRun: () => null }, run } })
  t.equal((await stored()).length, 1)
})

t.test('a job is a call of an internal service, with hooks and without provider', async (t) => {
  const seen: unknown[] = []
  const { app } = await start(t, {
    greet: async (data, params) => app.service('notes').create({ data }, params),
  })
  app.hooks([
    async ({ path, method, params }, next) => {
      seen.push([path, method, params.provider, params.job?.name])
      await next()
    },
  ])
  await app.jobs.enqueue('greet', 'hi')
  t.strictSame(await app.jobs.run(), { done: 1, failed: 0 })
  t.strictSame(seen, [
    ['jobs/greet', 'create', undefined, 'greet'],
    ['notes', 'create', undefined, 'greet'],
  ])
})

t.test('rejects options and jobs that it does not know', async (t) => {
  const collection = db.collection('jobs')
  const run = async () => undefined
  const cases: [object, RegExp][] = [
    [{ handlers: {} }, /'collection' is required/],
    [{ collection, handlers: {}, concurency: 1 }, /'concurency'.*'concurrency'/],
    [{ collection, handlers: { a: 1 } }, /the handler 'a'/],
    [{ collection, handlers: { a: {} } }, /the handler 'a' needs a function 'run'/],
    [{ collection, handlers: { a: { run, retries: 1 } } }, /the handler 'a'.*'retries'/],
    [{ collection, handlers: { a: { run, schedule: 'daily' } } }, /'schedule'/],
    [{ collection, handlers: {}, leaseMs: 0 }, /'leaseMs'/],
    [{ collection, handlers: {}, drainMs: 2 ** 31 }, /'drainMs'.*2147483647/],
    [{ collection, handlers: { a: { run, timeoutMs: 2 ** 31 } } }, /'timeoutMs'/],
    [{ collection, handlers: { 'a/:id': run } }, /'a\/:id' needs a name/],
  ]
  for (const [options, message] of cases) {
    t.throws(() => createApp().configure(jobs(options as never)), { name: 'TypeError', message })
  }
  t.throws(() => createApp().configure(jobs as never), /lacks the call of jobs/)
  const { app } = await start(t, { greet: run })
  t.throws(() => app.configure(jobs({ collection, handlers: {} })), /Path 'jobs'/)
  await t.rejects(app.jobs.enqueue('gret', {}), { name: 'TypeError', message: /no handler 'gret'/ })
  await t.rejects(app.jobs.enqueue('greet', {}, { delay: 1 } as never), /'delay'/)
  await t.rejects(app.jobs.enqueue('greet', {}, { due: -1 }), /'due'/)
  await t.rejects(app.jobs.enqueue('greet', {}, { due: new Date('x') }), /'due'/)
  await t.rejects(app.jobs.enqueue('greet', {}, { key: '' }), /'key'/)
})

t.test(
  'JOB-5: a key in a transaction: a job that waits already runs after the commit',
  async (t) => {
    const seen: number[] = []
    const { app } = await start(t, {
      count: async () => void seen.push(await db.collection('notes').countDocuments()),
    })
    const id = await app.jobs.enqueue('count', {}, { key: 'all' })
    const committed = new Gate()
    const written = new Gate()
    const writing = transaction(app, async () => {
      await app.service('notes').create({ text: 'a' })
      t.equal(await app.jobs.enqueue('count', {}, { key: 'all' }), id)
      await written.pass()
    })
    await written.arrivals(1)
    const running = app.jobs.run().then(() => committed.pass())
    await laterTurns()
    written.open()
    await writing
    committed.open()
    await running
    await app.jobs.run()
    t.equal(seen.at(-1), 1, 'the last run sees what the transaction has written')
  },
)

t.test('a worker that stops while it looks for jobs leaves what it finds to others', async (t) => {
  let runs = 0
  const { app } = await start(
    t,
    {
      greet: async () => {
        runs += 1
      },
    },
    { start: true },
  )
  for (let round = 0; round < 5; round += 1) {
    await app.jobs.enqueue('greet', {})
  }
  await app.teardown()
  const ran = runs
  const left = await stored()
  t.ok(left.every(({ lease, attempts }) => lease === null && attempts === 0))
  t.equal(left.length, 5 - ran)
  await laterTurns()
  t.equal(runs, ran)
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 }, 'it begins no more')
})

t.test('JOB-4: an attempt ends with its lease even if the database does not respond', async (t) => {
  const clock = stopClock(t)
  const intervals = holdIntervals(t)
  const collection = db.collection('jobs')
  const updateOne = () => new Promise(() => undefined)
  const gate = new Gate()
  const signals: AbortSignal[] = []
  const hang = async (_data: unknown, { job: { signal } }: JobParams) => {
    signals.push(signal)
    await gate.pass()
  }
  const { app } = await start(
    t,
    { hang },
    { leaseMs: 600_000, collection: replaceMethods(collection, { updateOne }) },
  )
  await app.jobs.enqueue('hang', {})
  const running = app.jobs.run()
  await gate.arrivals(1)
  clock.advance(300_000)
  intervals.fire()
  await laterTurns()
  t.notOk(signals[0]?.aborted)
  clock.advance(300_000)
  intervals.fire()
  t.strictSame(await running, { done: 0, failed: 1 })
  t.match(signals, [{ reason: { kind: 'lost' } }])
  gate.open()
})

t.test('JOB-4: no attempt begins if its lease may have ended before the reply', async (t) => {
  const collection = db.collection('jobs')
  const clock = stopClock(t)
  const intervals = holdIntervals(t)
  let [lateMs, extended] = [600_000, 0]
  const findOneAndUpdate = async (...args: Parameters<Collection['findOneAndUpdate']>) => {
    const job = await collection.findOneAndUpdate(...args)
    if (job?.['lease'] != null) clock.advance(lateMs)
    return job
  }
  const updateOne = async (...args: Parameters<Collection['updateOne']>) => {
    const result = await collection.updateOne(...args)
    extended += 1
    return result
  }
  const begun: number[] = []
  const gate = new Gate()
  const { app } = await start(
    t,
    {
      greet: async (_data, { job }) => {
        begun.push(job.attempt)
        if (lateMs < 600_000) await gate.pass()
      },
    },
    { leaseMs: 600_000, collection: replaceMethods(collection, { findOneAndUpdate, updateOne }) },
  )
  await app.jobs.enqueue('greet', {})
  t.strictSame(await app.jobs.run(), { done: 0, failed: 1 })
  t.strictSame([begun, extended], [[], 0])
  const [left] = await stored()
  t.match(left, { attempts: 1, lease: String, error: null }, 'it stores nothing')
  await db.collection('jobs').updateMany({}, { $set: { runAt: new Date(0) } })
  lateMs = 400_000
  const running = app.jobs.run()
  await gate.arrivals(1)
  await until(() => extended >= 1, running)
  clock.advance(400_000)
  intervals.fire()
  await until(() => extended >= 2, running)
  gate.open()
  t.strictSame(await running, { done: 1, failed: 0 }, 'a late reply that is in time')
  t.strictSame(begun, [2])
})

t.test('a later date does not take jobs that run, and ends with a schedule', async (t) => {
  const gate = new Gate()
  let runs = 0
  const handlers: Handlers = {
    slow: async () => {
      runs += 1
      await gate.pass()
    },
    tick: { schedule: 1_000, run: async () => undefined },
  }
  const { app } = await start(t, handlers)
  await app.jobs.enqueue('slow', {}, { priority: 1 })
  const running = app.jobs.run()
  await gate.arrivals(1)
  t.strictSame(await app.jobs.run({ at: new Date('2090-01-01') }), { done: 1, failed: 0 }, 'tick')
  t.equal(runs, 1)
  gate.open()
  await running
})

t.test('a time that cannot be used ends the job, and is logged', async (t) => {
  const run = async () => undefined
  const fails = async () => {
    throw new Error('no')
  }
  const cases: [object, RegExp][] = [
    [{ run, schedule: { nextRun: (after: Date) => after } }, /later date/],
    [{ run, schedule: { nextRun: () => new Date(Number.NaN) } }, /later date/],
    [{ run: fails, backoffMs: () => Number.NaN }, /Error: no/],
    [{ run: fails, backoffMs: () => Number.POSITIVE_INFINITY }, /Error: no/],
    [{ run: () => Promise.reject(Object.create(null)), attempts: 1 }, /without text/],
  ]
  for (const [handler, error] of cases) {
    await empty('jobs')
    const { app, logged } = await start(t, { odd: handler as JobHandler<never> })
    await empty('jobs')
    await app.jobs.enqueue('odd', {})
    // What the job of a schedule has.
    if ('schedule' in handler) await db.collection('jobs').updateMany({}, { $set: { key: '' } })
    await app.jobs.run()
    t.match(await stored(), [{ state: 'dead', error, lease: null }])
    t.ok(logged.length > 0)
    await app.teardown()
  }
})

t.test('a handler with a limit of its own leaves lanes to other jobs', async (t) => {
  const gate = new Gate()
  let [greeted, most] = [0, 0]
  const handlers: Handlers = {
    slow: {
      concurrency: 2,
      run: async () => {
        running += 1
        most = Math.max(most, running)
        await gate.pass()
        running -= 1
      },
    },
    greet: () => {
      greeted += 1
    },
  }
  let running = 0
  const { app } = await start(t, handlers, { start: true, concurrency: 4 })
  for (let index = 0; index < 8; index += 1) await app.jobs.enqueue('slow', { index })
  await app.jobs.enqueue('greet', {})
  await until(() => (greeted >= 1 && gate.arrived >= 2) || gate.arrived >= 3)
  t.strictSame([greeted, gate.arrived], [1, 2])
  gate.open()
  await until(async () => (await stored()).length === 0)
  t.strictSame([gate.arrived, most], [8, 2])
})

t.test('a job that is postponed has lost no attempt, and has not failed', async (t) => {
  const attempts: number[] = []
  const { app, logged } = await start(t, {
    greet: {
      attempts: 1,
      run: (_data, { job }) => {
        attempts.push(job.attempt)
        if (job.dueAt < LATER) throw new Postponed(LATER)
      },
    },
  })
  await app.jobs.enqueue('greet', {})
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  t.match(await stored(), [{ attempts: 0, lease: null, runAt: LATER, error: null }])
  t.strictSame(await app.jobs.run({ at: LATER }), { done: 1, failed: 0 })
  t.strictSame([attempts, logged], [[1, 1], []])
})

/** Jobs of a group, which are due now. */
const listGroup = (data: string, group: string) =>
  Array.from({ length: 5 }, (_, index) => ({ data, group, key: `${data}${index}` }))

t.test('jobs of a group take a quarter of the places', async (t) => {
  const gate = new Gate()
  const run = async (data: unknown) => {
    if (data === 'slow') await gate.pass()
    else greeted += 1
  }
  let greeted = 0
  const { app } = await start(t, { greet: run }, { start: true, concurrency: 8 })
  const added = [...listGroup('slow', 'a/1'), ...listGroup('quick', 'a/2')]
  await app.jobs.enqueueAll('greet', added, { params: {}, priority: 0 })
  await until(() => greeted >= 5 && gate.arrived >= 2)
  t.equal(gate.arrived, 2)
  gate.open()
  await until(async () => (await stored()).length === 0)
  t.equal(gate.arrived, 5)
})

t.test('reschedules the waiting jobs of a group', async (t) => {
  const seen: unknown[] = []
  const { app } = await start(t, { greet: (data) => void seen.push(data) })
  const added = [...listGroup('a', 'a/1'), ...listGroup('b', 'a/2')]
  await app.jobs.enqueueAll('greet', added, { params: {}, priority: 0 })
  const taken = { lease: 'of another process', runAt: new Date('2090-01-01') }
  await db.collection('jobs').updateOne({ key: 'a0' }, { $set: taken })
  await app.jobs.reschedule('a/1', { $lt: LATER }, LATER)
  t.strictSame(await app.jobs.run(), { done: 5, failed: 0 })
  await app.jobs.reschedule('a/1', new Date(0), 0)
  t.strictSame(await app.jobs.run(), { done: 0, failed: 0 })
  await app.jobs.reschedule('a/1', LATER, 0)
  t.strictSame(await app.jobs.run(), { done: 4, failed: 0 })
  t.strictSame(seen, [...Array(5).fill('b'), ...Array(4).fill('a')])
  t.match(await stored(), [taken])
})
