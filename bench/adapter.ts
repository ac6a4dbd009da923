import { parseArgs } from 'node:util'

import type { AdapterRow } from './adapter-rows.ts'
import { createRows } from './adapter-rows.ts'
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

interface Times {
  readonly driver: number[]
  readonly service: number[]
}

const { client, db, close } = await openBenchDatabase()
try {
  const rows = await createRows(client, db.collection('people'))
  printTable(
    ['', 'driver, µs', 'service, µs', 'ratio', 'quartiles', `at most ${TARGET}`],
    ['---', '---:', '---:', '---:', '---:', '---'],
  )
  for (const row of rows) report(row, await measure(row))
} finally {
  await close()
}

/**
 * Both run in short turns beside each other, so that a machine that gets slower does so for both; who
 * begins changes with each turn. The first turns do not count.
 */
async function measure(row: AdapterRow): Promise<Times> {
  const times: Times = { driver: [], service: [] }
  const warmUp = Math.ceil(turns / 3)
  for (let turn = -warmUp; turn < turns; turn += 1) {
    await row.prepare?.(row.calls)
    const order =
      turn % 2 === 0 ? (['driver', 'service'] as const) : (['service', 'driver'] as const)
    for (const kind of order) {
      const time = await timeCalls(row[kind], row.calls)
      if (turn >= 0) times[kind].push(time)
    }
  }
  return times
}

/** Resolves to the microseconds of one call. */
async function timeCalls(call: () => Promise<unknown>, calls: number): Promise<number> {
  const start = performance.now()
  for (let count = 0; count < calls; count += 1) await call()
  return ((performance.now() - start) * 1_000) / calls
}

function report({ title }: AdapterRow, { driver, service }: Times): void {
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
