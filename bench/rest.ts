import { parseArgs } from 'node:util'
import { compareProcesses } from './processes.ts'
import type { ServerKind } from './rest-child.ts'
import type { Column } from './rest-columns.ts'
import { COLUMNS } from './rest-columns.ts'
import type { RoundSizes, Start, TimesOf } from './rest-measure.ts'
import { measureRounds, measureStart, QUICK_ROUND_SIZES, ROUND_SIZES } from './rest-measure.ts'
import { REST_CHILD } from './rest-server.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// Compares Remex with plain Fastify: node build/bench/rest.js [--quick] [--gate] [--processes=12]

interface Sizes extends RoundSizes {
  /** How often each server is started for its start and memory. */
  readonly starts: number
}

const SIZES: Sizes = { ...ROUND_SIZES, starts: 15 }
const QUICK_SIZES: Sizes = { ...QUICK_ROUND_SIZES, starts: 5 }

const KINDS: readonly ServerKind[] = ['plain', 'remex', 'plain without schema']

const MAX_START_RATIO = 1.2
const MAX_EXTRA_MEMORY_MB = 15

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    /** Compares as many processes with each other, in place of the rest. */
    processes: { type: 'string' },
  },
  strict: false,
})
const sizes = values.quick ? QUICK_SIZES : SIZES
if (values.processes !== undefined) {
  const titles = { remex: 'Remex', 'plain without schema': 'no schema' }
  const servers = { file: REST_CHILD, plain: 'plain', titles, columns: COLUMNS } as const
  await compareProcesses<ServerKind>(servers, Number(values.processes))
} else {
  const areLeastsMet = [await compareRequests(), await compareStarts()].every(Boolean)
  if (values.gate && !areLeastsMet) process.exitCode = 1
}

async function compareRequests(): Promise<boolean> {
  const timesOf = await measureRounds(REST_CHILD, KINDS, COLUMNS, sizes)
  printTable(
    ['CPU efficiency', 'Remex', 'target', 'least', '', 'quartiles', 'no schema', 'plain', 'Remex'],
    ['---', '---:', '---:', '---:', '---', '---:', '---:', '---:', '---:'],
  )
  return COLUMNS.map((column) => printColumn(column, timesOf)).every(Boolean)
}

/** Prints a column of the measurement as a row. Returns whether the least is met. */
function printColumn({ name, target, least }: Column, timesOf: TimesOf<ServerKind>): boolean {
  const [plain, remex] = [timesOf(name, 'plain'), timesOf(name, 'remex')]
  const { median, low, high } = toRatio(plain, remex)
  printTable([
    ...[name, toPercent(median), toPercent(target), toPercent(least)],
    ...[toVerdict(median, target, least), `${toPercent(low)} to ${toPercent(high)}`],
    toPercent(toRatio(plain, timesOf(name, 'plain without schema')).median),
    ...[plain, remex].map((times) => `${toMedian(times).toFixed(1)} µs`),
  ])
  return least === undefined || median >= least
}

async function compareStarts(): Promise<boolean> {
  const [column] = COLUMNS
  if (column === undefined) throw new TypeError('There is no column to start with')
  const plain: Start[] = []
  const remex: Start[] = []
  for (let index = 0; index < sizes.starts; index += 1) {
    plain.push(await measureStart('plain idle', column))
    remex.push(await measureStart('remex', column))
  }
  const compare = (cost: (start: Start) => number): StartCosts => ({
    plain: toMedian(plain.map(cost)),
    remex: toMedian(remex.map(cost)),
    ratio: toRatio(remex.map(cost), plain.map(cost)).median,
  })
  const cpu = compare(({ cpuMs }) => cpuMs)
  const clock = compare(({ elapsedMs }) => elapsedMs)
  const memory = compare(({ memoryBytes }) => memoryBytes / 2 ** 20)
  const extraMb = memory.remex - memory.plain
  const isFast = cpu.ratio <= MAX_START_RATIO
  const isSmall = extraMb <= MAX_EXTRA_MEMORY_MB
  printTable(
    ['Process', 'Remex', 'most', '', 'plain', 'Remex'],
    ['---', '---:', '---:', '---', '---:', '---:'],
    [
      ...['cold start, CPU time', `${cpu.ratio.toFixed(2)} times`, `${MAX_START_RATIO} times`],
      ...[isFast ? 'met' : 'MISSED', `${cpu.plain.toFixed(0)} ms`, `${cpu.remex.toFixed(0)} ms`],
    ],
    [
      ...['cold start, by the clock', `${clock.ratio.toFixed(2)} times`, '', 'for information'],
      ...[`${clock.plain.toFixed(0)} ms`, `${clock.remex.toFixed(0)} ms`],
    ],
    [
      ...['idle memory', `+ ${extraMb.toFixed(1)} MB`, `+ ${MAX_EXTRA_MEMORY_MB} MB`],
      ...[isSmall ? 'met' : 'MISSED', `${memory.plain.toFixed(1)} MB`],
      `${memory.remex.toFixed(1)} MB`,
    ],
  )
  return isFast && isSmall
}

/** Medians of all starts, and the median of how the pairs compare. */
interface StartCosts {
  readonly plain: number
  readonly remex: number
  readonly ratio: number
}
