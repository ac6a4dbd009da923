import { performance } from 'node:perf_hooks'
import { openConnection } from './load.ts'
import type { ServerKind } from './rest-child.ts'
import type { Column } from './rest-columns.ts'
import { checkAnswer } from './rest-columns.ts'
import type { ServerProcess } from './rest-server.ts'
import { REST_CHILD, STEADY_FLAGS, startServer } from './rest-server.ts'
import type { Measured, TurnSizes, TurnTimes } from './turns.ts'
import { measureTurns } from './turns.ts'

/** By column: the times of each server. */
export type Round<Kind extends string> = ReadonlyMap<string, TurnTimes<Kind>>

export interface Start {
  /** CPU time from the start of the process to the first answer, in ms. */
  readonly cpuMs: number
  /** The same by the clock, which counts what else the machine does. */
  readonly elapsedMs: number
  readonly memoryBytes: number
}

/**
 * Measures every column of every server, in processes of their own.
 * @param file what these processes run
 * @param flags of these processes. Default: those that keep their memory steady
 */
export async function measureRound<Kind extends string>(
  file: URL,
  kinds: readonly Kind[],
  columns: readonly Column[],
  sizes: TurnSizes,
  flags: readonly string[] = STEADY_FLAGS,
): Promise<Round<Kind>> {
  const servers = await Promise.all(kinds.map((kind) => startServer(file, kind, flags)))
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
export const ROUND_SIZES: RoundSizes = { rounds: 5, warmUp: 12_000, turns: 24, requests: 400 }
export const QUICK_ROUND_SIZES: RoundSizes = { ...ROUND_SIZES, rounds: 2, turns: 10 }

/** Returns the times of a server at the requests of a column, in all rounds. */
export type TimesOf<Kind extends string> = (column: string, kind: Kind) => number[]

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
  return (column, kind) => rounds.flatMap((round) => round.get(column)?.get(kind) ?? [])
}

/** Starts a server and asks it once. */
export async function measureStart(kind: ServerKind, column: Column): Promise<Start> {
  const from = performance.now()
  const server = await startServer(REST_CHILD, kind)
  try {
    const connection = await openConnection(server.ports.records)
    checkAnswer(column, kind, await connection.send(column.request))
    const elapsedMs = performance.now() - from
    const cpuMs = await server.ask('cpu')
    connection.socket.destroy()
    return { cpuMs, elapsedMs, memoryBytes: await server.ask('memory') }
  } finally {
    await server.stop()
  }
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
    askCpu: () => server.ask('cpu'),
    check: (answer) => checkAnswer(column, kind, answer),
  }
}
