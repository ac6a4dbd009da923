import type { Column } from './rest-columns.ts'
import { checkAnswer } from './rest-columns.ts'
import type { ServerProcess } from './rest-server.ts'
import { startServer } from './rest-server.ts'
import type { CpuTime, Measured, TurnSizes, TurnTimes } from './turns.ts'
import { measureTurns } from './turns.ts'

/** By column: the times of each server. */
export type Round<Kind extends string> = ReadonlyMap<string, TurnTimes<Kind>>

/**
 * Measures every column of every server, in processes of their own.
 * @param file what these processes run
 */
export async function measureRound<Kind extends string>(
  file: URL,
  kinds: readonly Kind[],
  columns: readonly Column[],
  sizes: TurnSizes,
): Promise<Round<Kind>> {
  // Without flags, as users start them.
  const servers = await Promise.all(kinds.map((kind) => startServer(file, kind)))
  try {
    const round = new Map<string, TurnTimes<Kind>>()
    for (const column of columns) {
      const measured = servers.map((server) => toMeasured(server, column))
      round.set(column.name, await measureTurns(measured, sizes))
    }
    return round
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** How long a whole bench measures. */
export interface RoundSizes extends TurnSizes {
  /** How often all servers are started anew. */
  readonly rounds: number
}

/** What most benches of REST measure, and with `--quick`. */
export const ROUND_SIZES: RoundSizes = { rounds: 5, warmUp: 12_000, turns: 12, requests: 1_600 }
export const QUICK_ROUND_SIZES: RoundSizes = { ...ROUND_SIZES, rounds: 2, turns: 6 }

/**
 * Returns the times of a server at the requests of a column, in all rounds, in µs.
 * @param part of the CPU time. Default: `total`
 */
export type TimesOf<Kind extends string> = (
  column: string,
  kind: Kind,
  part?: keyof CpuTime,
) => number[]

/** Measures every column of every server in several rounds. */
export async function measureRounds<Kind extends string>(
  file: URL,
  kinds: readonly Kind[],
  columns: readonly Column[],
  sizes: RoundSizes,
): Promise<TimesOf<Kind>> {
  const rounds: Round<Kind>[] = []
  for (let index = 0; index < sizes.rounds; index += 1) {
    rounds.push(await measureRound(file, kinds, columns, sizes))
  }
  return (column, kind, part = 'total') =>
    rounds.flatMap(
      (round) =>
        round
          .get(column)
          ?.get(kind)
          ?.map((time) => time[part]) ?? [],
    )
}

function toMeasured<Kind extends string>(
  server: ServerProcess<Kind>,
  column: Column,
): Measured<Kind> {
  const { kind, ports } = server
  const port = ports[column.port ?? 'records']
  if (port === undefined) throw new TypeError(`'${kind}' has no port for '${column.name}'`)
  return {
    kind,
    port,
    request: (kind.startsWith('plain') ? column.plainRequest : undefined) ?? column.request,
    askCpu: async () => ({ total: await server.ask('cpu'), user: await server.ask('user') }),
    check: (answer) => checkAnswer(column, kind, answer),
  }
}
