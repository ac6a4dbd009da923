import type { ServerKind } from './rest-child.ts'
import { COLUMNS } from './rest-columns.ts'
import type { Round } from './rest-measure.ts'
import { measureRound } from './rest-measure.ts'
import { REST_CHILD } from './rest-server.ts'
import { toMedian } from './statistics.ts'
import { printTable, toPercent } from './table.ts'

const KINDS: readonly ServerKind[] = ['plain', 'remex']

const SIZES = { warmUp: 6_400, turns: 3, requests: 3_200, connections: 32 }

/** How many times as long as in the fastest process a request takes in a slow one. */
const SLOW = 1.08

/** What V8 makes of a program is not the same in each process: as a user starts them, without flags. */
const FLAGS: readonly string[] = []

/**
 * Compares processes of the same server with each other, and with plain Fastify. Every second one meets
 * the kinds of requests in another order.
 */
export async function compareProcesses(count: number): Promise<void> {
  const rounds: Round<ServerKind>[] = []
  for (let index = 0; index < count; index += 1) {
    const columns = index % 2 === 0 ? COLUMNS : shuffle(COLUMNS)
    rounds.push(await measureRound(REST_CHILD, KINDS, columns, SIZES, FLAGS))
  }
  printTable(
    ['CPU efficiency', 'fastest', 'slowest quarter', 'slow', 'Remex, µs', 'plain, µs'],
    ['---', '---:', '---:', '---:', '---', '---'],
  )
  for (const { name } of COLUMNS) printProcesses(name, rounds)
}

/** Prints what the requests of one kind cost in each process, the fastest first. */
function printProcesses(name: string, rounds: readonly Round<ServerKind>[]): void {
  const [plain = [], remex = []] = KINDS.map((kind) =>
    rounds
      .map((round) => toMedian(round.get(name)?.get(kind) ?? []))
      .toSorted((one, other) => one - other),
  )
  const fastest = remex[0] ?? Number.NaN
  const slowQuarter = toMedian(remex.slice(Math.floor(0.75 * remex.length)))
  const slow = remex.filter((time) => time > SLOW * fastest)
  printTable([
    ...[name, toPercent(toMedian(plain) / fastest), toPercent(toMedian(plain) / slowQuarter)],
    `${slow.length} of ${remex.length}`,
    ...[remex, plain].map((times) => times.map((time) => time.toFixed(1)).join(' ')),
  ])
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item)
}
