import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Collection, Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import { startEmbeddedMongo } from '../src/adapter/embedded/index.ts'
import { toMedian } from './statistics.ts'
import { printTable } from './table.ts'

// What an operation of the embedded server takes through the driver, in a small and a large collection,
// and how long it keeps the client's event loop from its other work:
// node build/bench/embedded.js [--quick]

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  strict: false,
})
const SIZES = values.quick ? [1_000, 10_000] : [1_000, 10_000, 100_000]
/** How often an operation is measured that reads few documents, and one that reads all. */
const REPEATS = values.quick ? { few: 20, all: 2 } : { few: 200, all: 5 }
/** Documents of one insert, of the preparation too. */
const BATCH = 1_000
const TICK_MS = 5

type Repeats = keyof typeof REPEATS

interface Row {
  readonly title: string
  readonly repeats: Repeats
  /** How many documents each call finds, where that is known. */
  readonly finds?: number
  /** Whether it leaves something behind, which goes before the next call. */
  readonly writes?: boolean
  /** `at` is a number below the size, another one with each call. */
  readonly run: (people: Collection, at: number) => Promise<readonly Document[]>
}

const find =
  (filter: (at: number) => Document, options: Document = {}): Row['run'] =>
  (people, at) =>
    people.find(filter(at), options).toArray()

const ROWS: readonly Row[] = [
  { title: 'find by _id', repeats: 'few', finds: 1, run: find((at) => ({ _id: at })) },
  { title: 'equality on an index', repeats: 'few', finds: 1, run: find((at) => ({ n: at })) },
  {
    title: '$in of 10 on an index',
    repeats: 'few',
    finds: 10,
    run: find((at) => ({ n: { $in: Array.from({ length: 10 }, (_, step) => at + step) } })),
  },
  {
    title: 'range of 20 on an index',
    repeats: 'few',
    finds: 20,
    run: find((at) => ({ n: { $gte: at, $lt: at + 20 } })),
  },
  {
    title: '$and of an equality and a range',
    repeats: 'few',
    finds: 2,
    run: find((at) => ({ $and: [{ digit: 3 }, { n: { $gte: at, $lt: at + 20 } }] })),
  },
  {
    title: 'sort by an index, limit 10',
    repeats: 'few',
    finds: 10,
    run: find(() => ({}), { sort: { n: -1 }, limit: 10 }),
  },
  {
    title: 'keyset page of 20',
    repeats: 'few',
    finds: 20,
    run: find((at) => ({ _id: { $gt: at } }), { sort: { _id: 1 }, limit: 20 }),
  },
  {
    title: `insert of ${BATCH} in one command`,
    repeats: 'all',
    writes: true,
    run: async (people) => {
      const extra = createPeople(BATCH, -1)
      await people.insertMany(extra)
      return []
    },
  },
  {
    title: 'build a unique index',
    repeats: 'all',
    writes: true,
    run: async (people) => {
      await people.createIndex({ mail: 1 }, { unique: true })
      return []
    },
  },
  {
    title: 'sort without an index, limit 10',
    repeats: 'all',
    finds: 10,
    run: find(() => ({}), { sort: { mail: 1 }, limit: 10 }),
  },
  {
    title: '$group of all',
    repeats: 'all',
    finds: 10,
    run: (people) =>
      people.aggregate([{ $group: { _id: '$digit', sum: { $sum: '$n' } } }]).toArray(),
  },
  { title: 'read everything', repeats: 'all', run: find(() => ({})) },
]

/** Removes what rows that write leave behind. */
async function restore(people: Collection): Promise<void> {
  await people.deleteMany({ _id: { $lt: 0 } as Document })
  const built = (await people.indexes()).find(({ unique }) => unique)
  if (built?.name !== undefined) await people.dropIndex(built.name)
}

/** Returns documents with numbers from 0 up, or from -1 down. */
function createPeople(count: number, direction: 1 | -1): Document[] {
  return Array.from({ length: count }, (_, at) => {
    const n = direction === 1 ? at : -1 - at
    // In no order, so that an index of it is written anywhere.
    const mail = `${(Math.abs(n) * 7_919) % 1_000_003}@example.org`
    return { _id: n, n, digit: Math.abs(n) % 10, mail, text: 'x'.repeat(100) } as Document
  })
}

async function measure(people: Collection, size: number, row: Row): Promise<readonly string[]> {
  const times: number[] = []
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  let blockMs = 0
  for (let call = -1; call < REPEATS[row.repeats]; call += 1) {
    if (row.writes) await restore(people)
    // Far from the end, so that each call finds as many.
    const at = ((call + 1) * 7_919) % (size - 100)
    // The delay is told by a timer, from one time that it fires to the next.
    await setTimeout(TICK_MS)
    delay.reset()
    const start = performance.now()
    const found = await row.run(people, at)
    const time = performance.now() - start
    await setTimeout(TICK_MS)
    if (row.finds !== undefined && found.length !== row.finds) {
      throw new Error(`'${row.title}' has found ${found.length} documents`)
    }
    if (call < 0) continue
    times.push(time)
    blockMs = Math.max(blockMs, delay.max / 1e6)
  }
  if (row.writes) await restore(people)
  delay.disable()
  const median = toMedian(times)
  return [`${size}`, row.title, median.toFixed(median < 10 ? 2 : 0), blockMs.toFixed(0)]
}

const server = await startEmbeddedMongo()
const client = new MongoClient(server.url)
try {
  printTable(
    ['documents', 'operation', 'median, ms', 'longest block, ms'],
    ['---:', '---', '---:', '---:'],
  )
  for (const size of SIZES) {
    const people = client.db('bench').collection(`people${size}`)
    await people.createIndexes([{ key: { n: 1 } }, { key: { digit: 1 } }])
    const all = createPeople(size, 1)
    for (let at = 0; at < size; at += BATCH) await people.insertMany(all.slice(at, at + BATCH))
    for (const row of ROWS) printTable(await measure(people, size, row))
    await people.drop()
  }
} finally {
  await client.close()
  await server.close()
}
