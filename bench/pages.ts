import { parseArgs } from 'node:util'
import { createApp } from 'remex/core'
import { MongoDBService } from 'remex/mongodb'
import { openBenchDatabase, passCollection } from './database.ts'
import { toRequest } from './load.ts'
import { KEYSET_SORT, toCursor, toPlainKey } from './plain-cursor.ts'
import type { Column } from './rest-columns.ts'
import { measureRounds, QUICK_ROUND_SIZES, ROUND_SIZES } from './rest-measure.ts'
import { toNewRecord } from './rest-records.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// Compares keyset pages with the same by hand, on Fastify and the driver:
// node build/bench/pages.js [--quick] [--gate]

/** At most 1.25 times the time by hand. */
const TARGET = 0.8
const RECORDS = 1_000
/** How many records come before the page. */
const PLACE = 500
const SECRET = 'a secret for the cursors of this benchmark'
/** A request takes as long as ten that no database answers. */
const SIZES = { warmUp: 3_000, requests: 200 }

type Kind = 'plain' | 'remex'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
  strict: false,
})

const database = await openBenchDatabase()
try {
  const people = database.db.collection('people')
  await people.createIndex(KEYSET_SORT)
  await people.insertMany(Array.from({ length: RECORDS }, (_none, index) => toNewRecord(index)))
  passCollection(database, people)
  process.env['BENCH_SECRET'] = SECRET
  const before = { sort: KEYSET_SORT, skip: PLACE - 1, limit: 1 }
  const [last] = await people.find({}, before).toArray()
  const app = createApp().use(
    'people',
    new MongoDBService({ Model: people, paginate: { default: PLACE, secret: SECRET } }),
  )
  const query = { $sort: { age: 1 }, $after: '' }
  const { nextCursor } = (await app.service('people').find({ query })) as { nextCursor?: string }
  const plainCursor = toCursor(last, toPlainKey(SECRET))
  const column: Column = {
    name: 'keyset page of 10',
    // As clients send it.
    request: toRequest('GET', `/people?%24sort%5Bage%5D=1&%24limit=10&%24after=${nextCursor}`),
    plainRequest: toRequest('GET', `/people?limit=10&after=${plainCursor}`),
    status: 200,
    body: (body) => isNextPage(body, String(last?.['_id'])),
  }
  const sizes = { ...(values.quick ? QUICK_ROUND_SIZES : ROUND_SIZES), ...SIZES }
  const file = new URL('./pages-child.js', import.meta.url)
  const timesOf = await measureRounds<Kind>(file, ['plain', 'remex'], [column], sizes)
  const times = [timesOf(column.name, 'plain'), timesOf(column.name, 'remex')] as const
  const { median, low, high } = toRatio(...times)
  printTable(
    ['CPU efficiency', 'Remex', 'target', '', 'quartiles', 'plain', 'Remex'],
    ['---', '---:', '---:', '---', '---:', '---:', '---:'],
    [
      ...[column.name, toPercent(median), toPercent(TARGET), toVerdict(median, TARGET, TARGET)],
      `${toPercent(low)} to ${toPercent(high)}`,
      ...times.map((all) => `${toMedian(all).toFixed(0)} µs`),
    ],
  )
  if (values.gate && median < TARGET) process.exitCode = 1
} finally {
  await database.close()
}

/** Whether a page has the records behind another one, and the cursor of a further page. */
function isNextPage(body: unknown, lastId: string): boolean {
  const { data, nextCursor } = body as { data: { _id: string; age: number }[]; nextCursor: unknown }
  const isBehind = data.every(({ _id, age }) => age >= 20 + PLACE / 20 - 1 && _id !== lastId)
  return data.length === 10 && isBehind && typeof nextCursor === 'string'
}
