import { performance } from 'node:perf_hooks'
import type { LoadOptions } from './load.ts'
import { openConnection, sendLoad } from './load.ts'
import type { ServerKind } from './rest-child.ts'
import type { Column } from './rest-columns.ts'
import { COLUMNS, checkAnswer } from './rest-columns.ts'
import type { ServerProcess } from './rest-server.ts'
import { startServer } from './rest-server.ts'

export interface Sizes {
  readonly rounds: number
  /** Requests of each column before the first one is measured: the compiler is still at work. */
  readonly warmUp: number
  /** Measured requests of each column. */
  readonly requests: number
  /** How often each server is started for its start and memory. */
  readonly starts: number
}

/** CPU time of the server per request, in µs, by column and server. */
export type Round = ReadonlyMap<string, ReadonlyMap<ServerKind, number>>

export interface Start {
  /** CPU time from the start of the process to the first answer, in ms. */
  readonly cpuMs: number
  /** The same by the clock, which counts what else the machine does. */
  readonly elapsedMs: number
  readonly memoryBytes: number
}

// V8 sizes the space for young objects by what happened before, and shrinks it in idle moments: a
// server with a small one collects ten times as often, which costs up to a third of a request.
export const STEADY_FLAGS: readonly string[] = [
  '--min-semi-space-size=16',
  '--max-semi-space-size=16',
]

/**
 * Measures every column of every server once. The servers take turns at each column, so that what
 * the machine does beside it falls on all of them.
 */
export async function measureRound(
  kinds: readonly ServerKind[],
  sizes: Sizes,
  columns: readonly Column[] = COLUMNS,
): Promise<Round> {
  const servers = await Promise.all(kinds.map((kind) => startServer(kind, STEADY_FLAGS)))
  try {
    for (const column of columns) for (const server of servers) await warmUp(server, column, sizes)
    const round = new Map<string, Map<ServerKind, number>>()
    for (const column of columns) {
      const times = new Map<ServerKind, number>()
      for (const server of servers) {
        times.set(server.kind, await measureColumn(server, column, sizes))
      }
      round.set(column.name, times)
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

/** Returns the value in the middle: one round that was disturbed does not count. */
export function toMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

async function warmUp(server: ServerProcess, column: Column, sizes: Sizes): Promise<void> {
  const load = toLoad(server, column, sizes.warmUp)
  checkAnswer(column, server.kind, await sendLoad(load))
}

async function measureColumn(server: ServerProcess, column: Column, sizes: Sizes): Promise<number> {
  const before = await server.ask('cpu')
  await sendLoad(toLoad(server, column, sizes.requests))
  return (((await server.ask('cpu')) - before) * 1_000) / sizes.requests
}

function toLoad(server: ServerProcess, column: Column, count: number): LoadOptions {
  const isPlain = server.kind !== 'remex'
  const request = (isPlain ? column.plainRequest : undefined) ?? column.request
  return { port: server.ports[column.port ?? 'records'], request, count }
}
