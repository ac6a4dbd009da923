import { parseArgs } from 'node:util'

import type { AdapterRow } from './adapter-rows.ts'
import { createRows } from './adapter-rows.ts'
import type { PairTimes } from './call-pairs.ts'
import { measurePair } from './call-pairs.ts'
import { openBenchDatabase } from './database.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable } from './table.ts'

// How long a service call takes, compared with the same call of the driver:
// node build/bench/adapter.js [--quick] [--gate]

/** How many times as long as the driver a service may take. */
const TARGET = 1.25

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
})
const turns = values.quick ? 15 : 60

const { client, db, close } = await openBenchDatabase()
try {
  const rows = await createRows(client, db.collection('people'))
  printTable(
    ['', 'driver, µs', 'service, µs', 'ratio', 'quartiles', `at most ${TARGET}`],
    ['---', '---:', '---:', '---:', '---:', '---'],
  )
  for (const row of rows) report(row, await measurePair(row, turns))
} finally {
  await close()
}

function report({ title }: AdapterRow, { driver, service }: PairTimes): void {
  const { median, low, high } = toRatio(service, driver)
  const isMet = median <= TARGET
  if (values.gate && !isMet) process.exitCode = 1
  printTable([
    title,
    ...[toMedian(driver).toFixed(0), toMedian(service).toFixed(0)],
    ...[median.toFixed(2), `${low.toFixed(2)} to ${high.toFixed(2)}`],
    isMet ? 'met' : 'MISSED',
  ])
}
