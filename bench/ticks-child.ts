import { performance } from 'node:perf_hooks'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'

// Runs one process of the benchmark `ticks`: prints the time of a tick in ns.

const [, , kind, collections] = process.argv
const TICKS = 2_000
const ROUNDS = 30

// Exported, so that it stays alive as the application of a server does.
export const app = kind === 'remex' ? (await import('remex')).createApp() : undefined
// As many as a server has when it starts: V8 has learned by then what the objects look like.
for (let round = 0; round < 100; round += 1) await runTicks(5)
for (let count = 0; count < Number(collections); count += 1) {
  await delay(20)
  globalThis.gc?.()
}
let fastest = Number.POSITIVE_INFINITY
for (let round = 0; round < ROUNDS; round += 1) {
  fastest = Math.min(fastest, await runTicks(TICKS))
}
console.log((1e6 * fastest) / TICKS)

/** Resolves to the ms that it took to add some ticks. */
async function runTicks(count: number): Promise<number> {
  const from = performance.now()
  for (let index = 0; index < count; index += 1) process.nextTick(doNothing)
  const elapsed = performance.now() - from
  await setImmediate()
  return elapsed
}

function doNothing(): undefined {
  return undefined
}
