import { isDeepStrictEqual, parseArgs } from 'node:util'
import type { ClientRow } from './client-rows.ts'
import { createRows } from './client-rows.ts'
import { REST_CHILD, STEADY_FLAGS, startServer } from './rest-server.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable } from './table.ts'

// The CPU time of a call by the client, compared with the HTTP library that it uses, which has the
// same time limit; the server is a process of its own: node build/bench/client.js [--quick] [--gate]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
})
const turns = values.quick ? 15 : 60
const CALLS = 200
const KINDS = ['library', 'limited', 'service'] as const

const server = await startServer(REST_CHILD, 'plain', STEADY_FLAGS)
try {
  printTable(
    [
      ...['', 'library, µs', 'with a time limit, µs', 'service, µs'],
      ...['to no limit', 'ratio', 'quartiles', 'target', ''],
    ],
    ['---', '---:', '---:', '---:', '---:', '---:', '---:', '---:', '---'],
  )
  for (const row of createRows(`http://127.0.0.1:${server.ports.records}`)) {
    await check(row)
    report(row, await measure(row))
  }
} finally {
  await server.stop()
}

/** @throws {Error} the calls do not resolve to the same record or page */
async function check({ title, service, library, limited }: ClientRow): Promise<void> {
  const [one, ...others] = [await service(), await library(), await limited()].map(withoutId)
  if (!others.every((other) => isDeepStrictEqual(one, other))) {
    throw new Error(`${title}: the answers differ`)
  }
}

/** Each new record has an id of its own. */
function withoutId(answer: unknown): unknown {
  const { id, ...others } = answer as Record<string, unknown>
  return others
}

type Times = Record<(typeof KINDS)[number], number[]>

/**
 * They run in short turns beside each other, so that a machine that gets slower does so for all; who
 * begins changes with each turn. The first turns do not count.
 */
async function measure(row: ClientRow): Promise<Times> {
  const times: Times = { library: [], limited: [], service: [] }
  const warmUp = Math.ceil(turns / 3)
  for (let turn = -warmUp; turn < turns; turn += 1) {
    for (const kind of turn % 2 === 0 ? KINDS : KINDS.toReversed()) {
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

function report({ title, target }: ClientRow, { library, limited, service }: Times): void {
  const { median, low, high } = toRatio(service, limited)
  const isMet = median <= target
  if (values.gate && !isMet) process.exitCode = 1
  printTable([
    title,
    ...[library, limited, service].map((times) => toMedian(times).toFixed(0)),
    toRatio(service, library).median.toFixed(2),
    ...[median.toFixed(2), `${low.toFixed(2)} to ${high.toFixed(2)}`],
    `<= ${target}`,
    isMet ? 'met' : 'MISSED',
  ])
}
