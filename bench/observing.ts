import { parseArgs } from 'node:util'
import { toRequest } from './load.ts'
import type { ObservingKind } from './observing-child.ts'
import type { Column } from './rest-columns.ts'
import { measureRounds, QUICK_ROUND_SIZES, ROUND_SIZES } from './rest-measure.ts'
import { toNewRecord } from './rest-records.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// Compares a server whose calls nobody observes with one that has no channel, and with those that are
// observed: node build/bench/observing.js [--quick] [--gate]

const CHILD = new URL('./observing-child.js', import.meta.url)

/** The CPU efficiency that each is to have, and at least has, of the server without a channel. */
const LIMITS: Readonly<Record<ObservingKind, readonly [target: number, least: number]>> = {
  'no channel': [1, 1],
  nobody: [1, 0.97],
  'a subscriber': [0.95, 0.85],
  prometheus: [0.9, 0.8],
  opentelemetry: [0.8, 0.6],
}
const KINDS = Object.keys(LIMITS) as ObservingKind[]

const COLUMNS: readonly Column[] = [
  {
    name: 'get',
    request: toRequest('GET', '/records/record-0042'),
    status: 200,
    body: (body) => typeof (body as { name?: unknown }).name === 'string',
  },
  {
    name: 'create',
    request: toRequest('POST', '/records', toNewRecord(7)),
    status: 201,
    body: (body) => typeof (body as { name?: unknown }).name === 'string',
  },
]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
  strict: false,
})
const sizes = values.quick ? QUICK_ROUND_SIZES : ROUND_SIZES
const timesOf = await measureRounds(CHILD, KINDS, COLUMNS, sizes)
printTable(
  ['CPU efficiency', 'who observes', 'of no channel', 'target', 'least', '', 'CPU time'],
  ['---', '---', '---:', '---:', '---:', '---', '---:'],
)
const areLeastsMet = COLUMNS.flatMap((column) => KINDS.map((kind) => printRow(column, kind)))
if (values.gate && !areLeastsMet.every(Boolean)) process.exitCode = 1

/** Prints one server as a row. Returns whether the least is met. */
function printRow({ name }: Column, kind: ObservingKind): boolean {
  const [target, least] = LIMITS[kind]
  const times = timesOf(name, kind)
  const { median } = toRatio(timesOf(name, 'no channel'), times)
  printTable([
    ...[name, kind, toPercent(median), toPercent(target), toPercent(least)],
    ...[toVerdict(median, target, least), `${toMedian(times).toFixed(1)} µs`],
  ])
  return median >= least
}
