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
  const plain = timesOf('plain')
  const efficiencyOf = (kind: ServerKind): number[] =>
    timesOf(kind).map((time, index) => (100 * (plain[index] ?? Number.NaN)) / time)
  const efficiencies = efficiencyOf('remex')
  const efficiency = toMedian(efficiencies)
  print([
    name,
    toPercent(efficiency),
    toPercent(target),
    toPercent(least),
    efficiency >= target ? 'met' : efficiency >= least ? 'least met' : 'MISSED',
    `${Math.min(...efficiencies).toFixed(0)} to ${toPercent(Math.max(...efficiencies))}`,
    toPercent(toMedian(efficiencyOf('plain without schema'))),
    `${toMedian(plain).toFixed(1)} µs`,
    `${toMedian(timesOf('remex')).toFixed(1)} µs`,
  ])
  return efficiency >= least
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
  const plainMs = toMedian(plain.map(({ startMs }) => startMs))
  const remexMs = toMedian(remex.map(({ startMs }) => startMs))
  const plainMb = toMedian(plain.map(({ memoryBytes }) => memoryBytes)) / 2 ** 20
  const remexMb = toMedian(remex.map(({ memoryBytes }) => memoryBytes)) / 2 ** 20
  const isFast = remexMs / plainMs <= MAX_START_RATIO
  const isSmall = remexMb - plainMb <= MAX_EXTRA_MEMORY_MB
  console.log('')
  print(
    ['Process', 'Remex', 'most', '', 'plain', 'Remex'],
    ['---', '---:', '---:', '---', '---:', '---:'],
  )
  print([
    ...['cold start', `${(remexMs / plainMs).toFixed(2)} times`, `${MAX_START_RATIO} times`],
    ...[isFast ? 'met' : 'MISSED', `${plainMs.toFixed(0)} ms`, `${remexMs.toFixed(0)} ms`],
  ])
  print([
    ...['idle memory', `+ ${(remexMb - plainMb).toFixed(1)} MB`, `+ ${MAX_EXTRA_MEMORY_MB} MB`],
    ...[isSmall ? 'met' : 'MISSED', `${plainMb.toFixed(1)} MB`, `${remexMb.toFixed(1)} MB`],
  ])
  return isFast && isSmall
}

function toPercent(value: number): string {
  return `${value.toFixed(0)} %`
}

/** Prints rows of a Markdown table. */
function print(...rows: readonly (readonly string[])[]): void {
  for (const row of rows) console.log(`| ${row.join(' | ')} |`)
}
