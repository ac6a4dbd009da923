import type { Answer, Load } from './load.ts'
import { openLoad } from './load.ts'

/** A server whose requests are measured. */
export interface Measured<Kind extends string> {
  readonly kind: Kind
  readonly port: number
  readonly request: Buffer
  /** CPU time of its process so far, in ms. */
  askCpu(): Promise<CpuTime>
  /** @throws {Error} it is not the answer that was asked for */
  check(answer: Answer): void
}

/** What a process, or one request, has taken of the processor. */
export interface CpuTime {
  /** In the program and in the kernel. */
  readonly total: number
  /** In the program alone. */
  readonly user: number
}

export interface TurnSizes {
  /** Requests of each server before the first turn: the compiler is still at work. */
  readonly warmUp: number
  readonly turns: number
  /** Measured requests of each turn. */
  readonly requests: number
  /** How many connections share the requests. Default: 32. */
  readonly connections?: number
}

/** In rotation, so that no server closes connections as idle while slow ones warm up. */
const WARM_UP_STEPS = 10

/** CPU time per request, in µs: one number for each turn. */
export type TurnTimes<Kind extends string> = ReadonlyMap<Kind, readonly CpuTime[]>

/**
 * Measures servers in short turns, each after the other, so that a machine that gets slower or faster
 * does so for all of them: what counts is how two servers compare within one turn.
 */
export async function measureTurns<Kind extends string>(
  servers: readonly Measured<Kind>[],
  { warmUp, turns, requests, connections }: TurnSizes,
): Promise<TurnTimes<Kind>> {
  const runs: { server: Measured<Kind>; load: Load; times: CpuTime[] }[] = []
  try {
    for (const server of servers) {
      runs.push({ server, load: await openLoad(server.port, connections), times: [] })
    }
    for (let step = 0; step < WARM_UP_STEPS; step += 1) {
      for (const { server, load } of runs) {
        server.check(await load.send(server.request, warmUp / WARM_UP_STEPS))
      }
    }
    for (let turn = 0; turn < turns; turn += 1) {
      for (const { server, load, times } of runs) {
        const before = await server.askCpu()
        await load.send(server.request, requests)
        const after = await server.askCpu()
        const toMicroseconds = (part: keyof CpuTime): number =>
          ((after[part] - before[part]) * 1_000) / requests
        times.push({ total: toMicroseconds('total'), user: toMicroseconds('user') })
      }
      // The next turn begins with another server: the first one may have it harder.
      runs.push(...runs.splice(0, 1))
    }
    return new Map(runs.map(({ server, times }) => [server.kind, times]))
  } finally {
    for (const { load } of runs) load.close()
  }
}
