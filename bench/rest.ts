import { parseArgs } from 'node:util'
import type { ServerKind } from './rest-child.ts'
import type { Column } from './rest-columns.ts'
import { COLUMNS } from './rest-columns.ts'
import type { Round, Sizes, Start } from './rest-measure.ts'
import { measureRound, measureStart, toMedian } from './rest-measure.ts'

// Compares Remex with plain Fastify: node build/bench/rest.js [--quick] [--gate]

const SIZES: Sizes = { rounds: 5, warmUp: 12_000, requests: 8_000, starts: 9 }
const QUICK_SIZES: Sizes = { rounds: 2, warmUp: 15_000, requests: 4_000, starts: 3 }

const KINDS: readonly ServerKind[] = ['plain', 'remex', 'plain without schema']

const MAX_START_RATIO = 1.25
const MAX_EXTRA_MEMORY_MB = 15

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
  strict: false,
})
const sizes = values.quick ? QUICK_SIZES : SIZES
const areLeastsMet = [await compareRequests(), await compareStarts()].every(Boolean)
if (values.gate && !areLeastsMet) process.exitCode = 1

async function compareRequests(): Promise<boolean> {
  const rounds: Round[] = []
  for (let index = 0; index < sizes.rounds; index += 1) {
    // Each round starts with another server, since the first one at a column may have it harder.
    const turn = index % KINDS.length
    rounds.push(await measureRound([...KINDS.slice(turn), ...KINDS.slice(0, turn)], sizes))
  }
  print(
    ['CPU efficiency', 'Remex', 'target', 'least', '', 'range', 'no schema', 'plain', 'Remex'],
    ['---', '---:', '---:', '---:', '---', '---:', '---:', '---:', '---:'],
  )
  return COLUMNS.map((column) => printColumn(column, rounds)).every(Boolean)
}

/** Prints a column of the measurement as a row. Returns whether the least is met. */
function printColumn({ name, target, least }: Column, rounds: readonly Round[]): boolean {
  const timesOf = (kind: ServerKind): number[] =>
    rounds.map((round) => round.get(name)?.get(kind) ?? Number.NaN)
  const plain = toMedian(timesOf('plain'))
  const remex = toMedian(timesOf('remex'))
  const efficiency = (100 * plain) / remex
  const ratios = timesOf('remex').map((time) => (100 * plain) / time)
  print([
    name,
    toPercent(efficiency),
    target === undefined ? '' : toPercent(target),
    least === undefined ? '' : toPercent(least),
    toVerdict(efficiency, target, least),
    `${Math.min(...ratios).toFixed(0)} to ${toPercent(Math.max(...ratios))}`,
    toPercent((100 * plain) / toMedian(timesOf('plain without schema'))),
    `${plain.toFixed(1)} µs`,
    `${remex.toFixed(1)} µs`,
  ])
  return least === undefined || efficiency >= least
}

function toVerdict(efficiency: number, target = 0, least = 0): string {
  if (least === 0) return 'for information'
  if (efficiency < least) return 'MISSED'
  return efficiency < target ? 'least met' : 'met'
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
  const [plainCpu, remexCpu] = [toMedian(plain.map(toCpu)), toMedian(remex.map(toCpu))]
  const [plainTime, remexTime] = [toMedian(plain.map(toElapsed)), toMedian(remex.map(toElapsed))]
  const [plainMb, remexMb] = [toMedian(plain.map(toMb)), toMedian(remex.map(toMb))]
  const isFast = remexCpu / plainCpu <= MAX_START_RATIO
  const isSmall = remexMb - plainMb <= MAX_EXTRA_MEMORY_MB
  print(
    ['Process', 'Remex', 'most', '', 'plain', 'Remex'],
    ['---', '---:', '---:', '---', '---:', '---:'],
    [
      ...['cold start, CPU time', `${(remexCpu / plainCpu).toFixed(2)} times`],
      ...[`${MAX_START_RATIO} times`, isFast ? 'met' : 'MISSED'],
      ...[`${plainCpu.toFixed(0)} ms`, `${remexCpu.toFixed(0)} ms`],
    ],
    [
      ...['cold start, by the clock', `${(remexTime / plainTime).toFixed(2)} times`, ''],
      ...['for information', `${plainTime.toFixed(0)} ms`, `${remexTime.toFixed(0)} ms`],
    ],
    [
      ...['idle memory', `+ ${(remexMb - plainMb).toFixed(1)} MB`, `+ ${MAX_EXTRA_MEMORY_MB} MB`],
      ...[isSmall ? 'met' : 'MISSED', `${plainMb.toFixed(1)} MB`, `${remexMb.toFixed(1)} MB`],
    ],
  )
  return isFast && isSmall
}

function toCpu({ cpuMs }: Start): number {
  return cpuMs
}

function toElapsed({ elapsedMs }: Start): number {
  return elapsedMs
}

function toMb({ memoryBytes }: Start): number {
  return memoryBytes / 2 ** 20
}

function toPercent(value: number): string {
  return `${value.toFixed(0)} %`
}

/** Prints a Markdown table, or rows of one. */
function print(...rows: readonly (readonly string[])[]): void {
  if (rows.length > 1) console.log('')
  for (const row of rows) console.log(`| ${row.join(' | ')} |`)
}
