import { parseArgs } from 'node:util'
import { toRequest } from './load.ts'
import { BRACKETS } from './rest-brackets.ts'
import type { Column } from './rest-columns.ts'
import { measureRounds, QUICK_ROUND_SIZES, ROUND_SIZES } from './rest-measure.ts'
import { toNewRecord } from './rest-records.ts'
import type { SchemasKind } from './rest-schemas-child.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// Compares a service with schemas with the same one without: node build/bench/rest-schemas.js [--quick] [--gate]

const CHILD = new URL('./rest-schemas-child.js', import.meta.url)
const KINDS: readonly SchemasKind[] = ['plain', 'remex', 'remex with schemas']

/** A page with schemas costs at most what it costs without. */
const TARGET = 1
const LEAST = 0.95

const COLUMNS: readonly Column[] = [
  {
    name: 'find of 10 from a database',
    target: TARGET,
    least: LEAST,
    request: toRequest('GET', '/records?$limit=10&$skip=0'),
    status: 200,
    body: isPage,
  },
  {
    name: 'get from a database',
    target: TARGET,
    least: LEAST,
    request: toRequest('GET', '/records/00000007'),
    status: 200,
    body: (body) => (body as { name: string }).name === 'Name 7',
  },
  {
    // The query is checked, and its strings become what the schema says.
    name: 'bracket query',
    target: TARGET,
    least: LEAST,
    request: toRequest('GET', `/records?${BRACKETS}`),
    status: 200,
    body: isPage,
  },
  {
    // The data is checked.
    name: 'create',
    target: TARGET,
    least: LEAST,
    request: toRequest('POST', '/records', toNewRecord(7)),
    status: 201,
    body: (body) => (body as { name: string }).name === 'Name 7',
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
  ['CPU efficiency', 'with : without', 'target', 'least', '', 'plain', 'without', 'with'],
  ['---', '---:', '---:', '---:', '---', '---:', '---:', '---:'],
)
const areLeastsMet = COLUMNS.map(printColumn)
if (values.gate && !areLeastsMet.every(Boolean)) process.exitCode = 1

/** Prints a column of the measurement as a row. Returns whether the least is met. */
function printColumn({ name, target, least }: Column): boolean {
  const times = KINDS.map((kind) => timesOf(name, kind))
  const [, without = [], withSchemas = []] = times
  const { median } = toRatio(without, withSchemas)
  printTable([
    ...[name, toPercent(median), toPercent(target), toPercent(least)],
    ...[toVerdict(median, target, least), ...times.map((one) => `${toMedian(one).toFixed(1)} µs`)],
  ])
  return least === undefined || median >= least
}

function isPage(body: unknown): boolean {
  const { data } = body as { data: readonly { _id: string; createdAt: string }[] }
  return (
    data.length === 10 &&
    data.every(({ _id, createdAt }) => /^[\da-f]{24}$/.test(_id) && createdAt.endsWith('Z'))
  )
}
