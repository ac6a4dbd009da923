import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { jobs } from '../../src/adapter/jobs/index.ts'
import { createApp } from '../../src/core/index.ts'
import { openDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

t.setTimeout(600_000)

const COUNT = 2_000
const PROGRAM = fileURLToPath(new URL('./jobs-process.js', import.meta.url))
const FIVE_MINUTES = 5 * 60_000

const { db, url } = await openDatabase(t)
const collection = db.collection('jobs')

async function startProcess(aheadMs = 0): Promise<ChildProcess> {
  const argument = JSON.stringify({ url, name: db.databaseName, aheadMs })
  const child = spawn(process.execPath, [PROGRAM, argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

const dead = async () => (await app.jobs.find({ query: { state: 'dead' } })).data
const none = async () => undefined
const app = createApp()
app.configure(
  jobs({ collection, start: false, handlers: { effect: none, tick: none, exit: none } }),
)
await app.setup()
const processes = await Promise.all([startProcess(), startProcess(FIVE_MINUTES), startProcess()])

t.test('JOB-1: 2,000 jobs, one of three workers killed: each effect, none lost', async (t) => {
  const effects = db.collection('effects')
  const data = Array.from({ length: COUNT }, (_, index) => index)
  const enqueued = Promise.all(data.map((index) => app.jobs.enqueue('effect', index)))
  await until(async () => (await effects.countDocuments()) > COUNT / 4, enqueued)
  processes[0]?.kill('SIGKILL')
  await enqueued
  await until(async () => (await collection.countDocuments({ name: 'effect' })) === 0)
  const done = (await effects.distinct('data')) as number[]
  t.strictSame(
    done.sort((a, b) => a - b),
    data,
  )
})

t.test(
  'JOB-2: each tick of a schedule begins once, never early, whatever a clock says',
  async (t) => {
    const ticks = db.collection('ticks')
    const already = await ticks.countDocuments()
    await until(async () => (await ticks.countDocuments()) > already + 10)
    const found = await ticks.find().toArray()
    t.ok(found.every(({ runs }) => runs === 1))
    t.ok(found.every(({ at, dueAt }) => at >= dueAt))
  },
)

t.test(
  'JOB-3: a job that kills each process that runs it is dead after its attempts',
  async (t) => {
    const exits = processes.slice(1).map((child) => once(child, 'exit'))
    await app.jobs.enqueue('exit', {})
    await Promise.all(exits)
    await until(async () => (await dead()).length === 1, startProcess().then(none))
    t.match(await dead(), [{ name: 'exit', attempts: 3, error: /process ended/ }])
  },
)
