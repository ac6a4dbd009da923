// A process that runs the jobs of jobs.test.ts, by a clock that is wrong by some ms.
import { MongoClient } from 'mongodb'
import { jobs } from '../../src/adapter/jobs/index.ts'
import { createApp } from '../../src/core/index.ts'

interface Arguments {
  readonly url: string
  readonly name: string
  readonly aheadMs: number
}

const { url, name, aheadMs } = JSON.parse(process.argv[2] ?? '') as Arguments
const { now } = Date
Date.now = () => now() + aheadMs

const client = new MongoClient(url)
const db = client.db(name)
const app = createApp()
app.configure(
  jobs({
    ...{ collection: db.collection('jobs'), leaseMs: 3_000, pollMs: 20 },
    handlers: {
      effect: async (data) => {
        await db.collection('effects').insertOne({ data })
      },
      tick: {
        schedule: 100,
        run: async (_data, { job: { dueAt, attempt } }) => {
          const update = { $currentDate: { at: true } } as const
          await db
            .collection('ticks')
            .updateOne({ dueAt, attempt }, { ...update, $inc: { runs: 1 } }, { upsert: true })
        },
      },
      exit: { attempts: 2, run: () => process.kill(process.pid, 'SIGKILL') },
    },
  }),
)
await app.setup()
console.log('ready')
