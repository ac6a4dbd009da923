import type { Column } from './rest-columns.ts'
import type { Round } from './rest-measure.ts'
import { measureRound } from './rest-measure.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent } from './table.ts'

const SIZES = { warmUp: 8_000, turns: 8, requests: 1_600 }

/** How many times as long as in the fastest process a request takes in a slow one. */
const SLOW = 1.08

/** The servers that are compared, each in as many fresh processes. */
interface Servers<Kind extends string> {
  readonly file: URL
  /** The server that stands for 100 %. Each of its processes is paired with one of every other kind. */
  readonly plain: Kind
  /** The title of each other kind. */
  readonly titles: Readonly<Partial<Record<Kind, string>>>
  readonly columns: readonly Column[]
}

/**
 * Compares processes of the same server with each other, and with plain Fastify. Every second one meets
 * the kinds of requests in another order.
 */
export async function compareProcesses<Kind extends string>(
  { file, plain, titles, columns }: Servers<Kind>,
  count: number,
): Promise<void> {
  const kinds = Object.keys(titles) as Kind[]
  const rounds: Round<Kind>[] = []
  for (let index = 0; index < count; index += 1) {
    const order = index % 2 === 0 ? columns : shuffle(columns)
    rounds.push(await measureRound(file, [plain, ...kinds], order, SIZES))
  }
  printTable(
    [
      'CPU efficiency',
      'server',
      'slowest quarter',
      'median',
      'spread',
      'slow',
      'each process',
      'µs',
    ],
    ['---', '---', '---:', '---:', '---:', '---:', '---', '---'],
  )
  for (const { name } of columns) {
    for (const kind of kinds) printProcesses([name, titles[kind] ?? kind], { plain, kind }, rounds)
  }
}

/** Prints how the processes of one kind did at the requests of one column, the slowest first. */
function printProcesses<Kind extends string>(
  [name, title]: readonly [string, string],
  { plain, kind }: { readonly plain: Kind; readonly kind: Kind },
  rounds: readonly Round<Kind>[],
): void {
  const processes = rounds
    .map((round) => {
      const timesOf = (one: Kind): number[] =>
        round
          .get(name)
          ?.get(one)
          ?.map(({ total }) => total) ?? []
      const times = timesOf(kind)
      return { efficiency: toRatio(timesOf(plain), times).median, time: toMedian(times) }
    })
    .toSorted((one, other) => one.efficiency - other.efficiency)
  const efficiencies = processes.map(({ efficiency }) => efficiency)
  const fastest = efficiencies.at(-1) ?? Number.NaN
  const slow = efficiencies.filter((efficiency) => efficiency * SLOW < fastest)
  printTable([
    ...[name, title, toPercent(toMedian(efficiencies.slice(0, Math.ceil(processes.length / 4))))],
    ...[toPercent(toMedian(efficiencies)), toPercent(fastest / (efficiencies[0] ?? 1) - 1)],
    `${slow.length} of ${processes.length}`,
    efficiencies.map((efficiency) => (100 * efficiency).toFixed(0)).join(' '),
    processes.map(({ time }) => time.toFixed(1)).join(' '),
  ])
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item)
}
