import { performance } from 'node:perf_hooks'
import { openConnection } from './load.ts'
import type { ServerKind } from './rest-child.ts'
import type { Column } from './rest-columns.ts'
import { COLUMNS, checkAnswer } from './rest-columns.ts'
import type { ServerProcess } from './rest-server.ts'
import { STEADY_FLAGS, startServer } from './rest-server.ts'
import type { Measured, TurnSizes, TurnTimes } from './turns.ts'
import { measureTurns } from './turns.ts'

export interface Sizes extends TurnSizes {
  /** How often all servers are started anew. */
  readonly rounds: number
  /** How often each server is started for its start and memory. */
  readonly starts: number
}

/** By column: the times of each server. */
export type Round = ReadonlyMap<string, TurnTimes<ServerKind>>

export interface Start {
  /** CPU time from the start of the process to the first answer, in ms. */
  readonly cpuMs: number
  /** The same by the clock, which counts what else the machine does. */
  readonly elapsedMs: number
  readonly memoryBytes: number
}

/** Measures every column of every server, in processes of their own. */
export async function measureRound(
  kinds: readonly ServerKind[],
  sizes: Sizes,
  columns: readonly Column[] = COLUMNS,
): Promise<Round> {
  const servers = await Promise.all(kinds.map((kind) => startServer(kind, STEADY_FLAGS)))
  try {
    const round = new Map<string, TurnTimes<ServerKind>>()
    for (const column of columns) {
      const measured = servers.map((server) => toMeasured(server, column))
      round.set(column.name, await measureTurns(measured, sizes))
    }
    return round
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** Starts a server and asks it once. */
export async function measureStart(kind: ServerKind, column: Column): Promise<Start> {
  const from = performance.now()
  const server = await startServer(kind)
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

function toMeasured(server: ServerProcess, column: Column): Measured<ServerKind> {
  const { kind, ports } = server
  return {
    kind,
    port: ports[column.port ?? 'records'],
    request: (kind === 'remex' ? undefined : column.plainRequest) ?? column.request,
    askCpu: () => server.ask('cpu'),
    check: (answer) => checkAnswer(column, kind, answer),
  }
}
