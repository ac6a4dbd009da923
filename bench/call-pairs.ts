/** One operation, done in two ways. */
export interface CallPair {
  /** Calls of each in one turn. */
  readonly calls: number
  readonly driver: () => Promise<unknown>
  readonly service: () => Promise<unknown>
  /** Makes the records that a turn uses up. */
  readonly prepare?: (calls: number) => Promise<unknown>
}

/** µs of one call: a number for each turn. */
export interface PairTimes {
  readonly driver: number[]
  readonly service: number[]
}

/**
 * Both run in short turns beside each other, so that a machine that gets slower does so for both; who
 * begins changes with each turn. The first turns do not count.
 */
export async function measurePair(pair: CallPair, turns: number): Promise<PairTimes> {
  const times: PairTimes = { driver: [], service: [] }
  const warmUp = Math.ceil(turns / 3)
  for (let turn = -warmUp; turn < turns; turn += 1) {
    await pair.prepare?.(pair.calls)
    const order =
      turn % 2 === 0 ? (['driver', 'service'] as const) : (['service', 'driver'] as const)
    for (const kind of order) {
      const time = await timeCalls(pair[kind], pair.calls)
      if (turn >= 0) times[kind].push(time)
    }
  }
  return times
}

/** Resolves to the microseconds of one call. */
async function timeCalls(call: () => Promise<unknown>, calls: number): Promise<number> {
  const start = performance.now()
  for (let count = 0; count < calls; count += 1) await call()
  return ((performance.now() - start) * 1_000) / calls
}
