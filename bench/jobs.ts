import { EventEmitter, once } from 'node:events'
import { parseArgs } from 'node:util'
import type { Collection } from 'mongodb'
import { createApp } from 'remex'
import type { JobsOptions } from 'remex/jobs'
import { jobs } from 'remex/jobs'
import { openBenchDatabase } from './database.ts'
import { toMedian } from './statistics.ts'
import { printTable, toPercent } from './table.ts'

// Jobs per second in one process, against the same three commands by hand: node build/bench/jobs.js [--jobs 1000]
// [--gate]. The server that is at hand decides about the times: the ratio carries over.

const ROUNDS = 5
const LANES = 10
/** The least share of what the commands alone reach. */
const LEAST_SHARE = 0.4

const { values } = parseArgs({
  options: { jobs: { type: 'string', default: '1000' }, gate: { type: 'boolean', default: false } },
})
const count = Number(values.jobs)

const { db, close } = await openBenchDatabase()
try {
  const rows = { enqueued: [], 'worked off': [] } as Record<string, [own: number, plain: number][]>
  for (let round = 0; round <= ROUNDS; round += 1) {
    const plain = await measurePlain(db.collection(`plain_${round}`))
    const own = await measureJobs(db.collection(`jobs_${round}`))
    // The first round warms up.
    if (round === 0) continue
    rows['enqueued']?.push([own[0], plain[0]])
    rows['worked off']?.push([own[1], plain[1]])
  }
  printTable(
    [`${count} jobs, ${LANES} at a time`, 'jobs per second', 'by hand', 'share', ''],
    ['---', '---:', '---:', '---:', '---'],
  )
  for (const [name, pairs] of Object.entries(rows)) {
    const share = toMedian(pairs.map(([own, plain]) => plain / own))
    const [own, plain] = [0, 1].map((at) => toMedian(pairs.map((pair) => pair[at] ?? Number.NaN)))
    const isMet = share >= LEAST_SHARE
    printTable([name, toRate(own), toRate(plain), toPercent(share), isMet ? 'met' : 'MISSED'])
    if (values.gate && !isMet) process.exitCode = 1
  }
} finally {
  await close()
}

function toRate(ms: number | undefined): string {
  return ((1000 * count) / (ms ?? Number.NaN)).toFixed(0)
}

/** Resolves to how long jobs take to be stored, and to be run and removed, in ms. */
async function measureJobs(collection: Collection): Promise<[number, number]> {
  let left = count
  const ends = new EventEmitter()
  const work = async (): Promise<void> => {
    left -= 1
    if (left === 0) ends.emit('done')
  }
  // The examples declare their own names of jobs.
  const handlers = { work } as unknown as JobsOptions['handlers']
  const app = createApp().configure(
    jobs({ collection, handlers, concurrency: LANES, drainMs: 60_000 }),
  )
  const enqueued = await measure(() =>
    inLanes(async (index) => void (await app.jobs.enqueue('work' as never, { index } as never))),
  )
  const done = await measure(async () => {
    const isDone = once(ends, 'done')
    await app.setup()
    await isDone
    await app.teardown()
  })
  return [enqueued, done]
}

/** The commands alone: one that stores a job, one that takes it, one that removes it. */
async function measurePlain(collection: Collection): Promise<[number, number]> {
  await collection.createIndex({ state: 1, priority: -1, runAt: 1 })
  const enqueued = await measure(() =>
    inLanes(async (index) => {
      const job = { name: 'work', data: { index }, state: 'open', priority: 0, runAt: new Date() }
      await collection.insertOne(job)
    }),
  )
  const done = await measure(() =>
    inLanes(async () => {
      const job = await collection.findOneAndUpdate(
        { state: 'open', runAt: { $lte: new Date() } },
        { $set: { state: 'taken', runAt: new Date(Date.now() + 60_000) } },
        { sort: { priority: -1, runAt: 1 } },
      )
      if (job !== null) await collection.deleteOne({ _id: job._id })
    }),
  )
  return [enqueued, done]
}

async function measure(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Runs work for each job, as many at a time as there are lanes. */
async function inLanes(work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      next += 1
      await work(next)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}
