import { pathToFileURL } from 'node:url'
import type { ObjectId } from 'mongodb'
import { MongoClient } from 'mongodb'

import { startEmbeddedMongo } from 'remex/embedded'
import { MongoDBService } from 'remex/mongodb'
import { toMedian } from './statistics.ts'

interface Row {
  readonly title: string
  readonly driver: () => Promise<unknown>
  readonly service: () => Promise<unknown>
}

const ROUNDS = 40
const CALLS_PER_ROUND = 100
const TARGET = 1.25

/**
 * Prints how long a service call takes in proportion to the same call of the driver. Both run in
 * turns on the same database (that of `MONGODB_URL`, else the embedded one); the ratio is that of the
 * medians over all rounds.
 */
export async function run(): Promise<void> {
  const url = process.env.MONGODB_URL
  const embedded = url ? undefined : await startEmbeddedMongo({})
  const client = new MongoClient(url ?? embedded?.url ?? '')
  const db = client.db(`remex_bench_${process.pid}`)
  try {
    const table: Record<string, Record<string, string>> = {}
    for (const row of await createRows(db.collection('people'))) {
      const { driver, service } = await measure(row)
      const ratio = service / driver
      table[row.title] = {
        'driver, µs': (driver * 1000).toFixed(0),
        'service, µs': (service * 1000).toFixed(0),
        ratio: ratio.toFixed(2),
        [`at most ${TARGET}`]: ratio <= TARGET ? 'yes' : 'no',
      }
    }
    console.table(table)
  } finally {
    await db.dropDatabase()
    await client.close()
    await embedded?.close()
  }
}

async function createRows(
  people: ReturnType<ReturnType<MongoClient['db']>['collection']>,
): Promise<Row[]> {
  const service = new MongoDBService({ Model: people })
  const documents = Array.from({ length: 200 }, (_, age) => ({ name: `name ${age}`, age }))
  const { insertedIds } = await people.insertMany(documents)
  const id = insertedIds[7] as ObjectId
  const text = String(id)
  const query = { age: { $gte: 20, $lt: 30 }, $sort: { age: 1 }, $limit: 10 } as const
  const filter = { age: query.age }
  const after = { returnDocument: 'after' } as const
  return [
    { title: 'get', driver: () => people.findOne({ _id: id }), service: () => service.get(text) },
    {
      title: 'find 10',
      driver: () => people.find(filter, { sort: query.$sort, limit: 10 }).toArray(),
      service: () => service.find({ query, provider: 'rest' }),
    },
    {
      title: 'patch',
      driver: () => people.findOneAndUpdate({ _id: id }, { $set: { seen: 1 } }, after),
      service: () => service.patch(text, { seen: 1 }, { provider: 'rest' }),
    },
    {
      title: 'update',
      driver: () => people.findOneAndReplace({ _id: id }, { name: 'a', age: 999 }, after),
      service: () => service.update(text, { name: 'a', age: 999 }, { provider: 'rest' }),
    },
    {
      title: 'create',
      driver: () => people.insertOne({ name: 'a', age: 999 }),
      service: () => service.create({ name: 'a', age: 999 }, { provider: 'rest' }),
    },
  ]
}

async function measure(row: Row): Promise<{ driver: number; service: number }> {
  const times = { driver: [] as number[], service: [] as number[] }
  for (let round = 0; round < ROUNDS; round += 1) {
    times.driver.push(await timeCalls(row.driver))
    times.service.push(await timeCalls(row.service))
  }
  return { driver: toMedian(times.driver), service: toMedian(times.service) }
}

/** Resolves to the milliseconds that one call takes. */
async function timeCalls(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let count = 0; count < CALLS_PER_ROUND; count += 1) await call()
  return (performance.now() - start) / CALLS_PER_ROUND
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run()
