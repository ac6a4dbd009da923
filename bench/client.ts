import { isDeepStrictEqual, parseArgs } from 'node:util'
import type { ClientRow } from './client-rows.ts'
import { createRows } from './client-rows.ts'
import { REST_CHILD, STEADY_FLAGS, startServer } from './rest-server.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable } from './table.ts'

// The CPU time of a call by the client, compared with the HTTP library that it uses; the server is a
// process of its own: node build/bench/client.js [--quick] [--gate]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
})
const turns = values.quick ? 15 : 60
const CALLS = 200

const server = await startServer(REST_CHILD, 'plain', STEADY_FLAGS)
try {
  printTable(
    ['', 'library, µs', 'service, µs', 'ratio', 'quartiles', 'target', ''],
    ['---', '---:', '---:', '---:', '---:', '---:', '---'],
  )
  for (const row of createRows(`http://127.0.0.1:${server.ports.records}`)) {
    await check(row)
    report(row, await measure(row))
  }
} finally {
  await server.stop()
}

/** @throws {Error} the two calls do not resolve to the same record or page */
async function check({ title, service, library }: ClientRow): Promise<void> {
  const [one, other] = [await service(), await library()].map(withoutId)
  if (!isDeepStrictEqual(one, other)) throw new Error(`${title}: the answers differ`)
}

/** Each new record has an id of its own. */
function withoutId(answer: unknown): unknown {
  const { id, ...others } = answer as Record<string, unknown>
  return others
}

interface Times {
  readonly library: number[]
  readonly service: number[]
}

/**
 * Both run in short turns beside each other, so that a machine that gets slower does so for both; who
 * begins changes with each turn. The first turns do not count.
 */
async function measure(row: ClientRow): Promise<Times> {
  const times: Times = { library: [], service: [] }
  const warmUp = Math.ceil(turns / 3)
  for (let turn = -warmUp; turn < turns; turn += 1) {
    const order =
      turn % 2 === 0 ? (['library', 'service'] as const) : (['service', 'library'] as const)
    for (const kind of order) {
      const time = await timeCalls(row[kind])
      if (turn >= 0) times[kind].push(time)
    }
  }
  return times
}

/** Resolves to the microseconds of CPU time of one call, in this process. */
async function timeCalls(call: () => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage()
  for (let count = 0; count < CALLS; count += 1) await call()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / CALLS
}

function report({ title, target }: ClientRow, { library, service }: Times): void {
  const { median, low, high } = toRatio(service, library)
  const isMet = median <= target
  if (values.gate && !isMet) process.exitCode = 1
  printTable([
    title,
    ...[toMedian(library).toFixed(0), toMedian(service).toFixed(0)],
    ...[median.toFixed(2), `${low.toFixed(2)} to ${high.toFixed(2)}`],
    `<= ${target}`,
    isMet ? 'met' : 'MISSED',
  ])
}
