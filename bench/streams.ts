import { get } from 'node:http'
import { parseArgs } from 'node:util'
import { openBenchDatabase, passCollection } from './database.ts'
import { toNewRecord } from './rest-records.ts'
import type { ServerProcess } from './rest-server.ts'
import { STEADY_FLAGS, startServer } from './rest-server.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// Compares streams of records with the same by hand, on Fastify and the driver:
// node build/bench/streams.js [--quick] [--gate] [--records=10000] [--rounds=41]

/** At most 1.25 times the time by hand. */
const TARGET = 0.8
const MAX_MEMORY_MB = 40
const INSERTED = 10_000

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    records: { type: 'string', default: '10000' },
    rounds: { type: 'string' },
  },
  strict: false,
})
const count = Number(values.records)
const rounds = Number(values.rounds ?? (values.quick ? 9 : 41))

type Kind = 'plain' | 'remex'
type StreamServer = ServerProcess<Kind>

const database = await openBenchDatabase()
const records = database.db.collection('records')
for (let index = 0; index < count; index += INSERTED) {
  const length = Math.min(INSERTED, count - index)
  await records.insertMany(Array.from({ length }, (_none, n) => toNewRecord(index + n)))
}
passCollection(database, records)
const file = new URL('./streams-child.js', import.meta.url)
const servers: readonly StreamServer[] = [
  await startServer<Kind>(file, 'plain', STEADY_FLAGS),
  await startServer<Kind>(file, 'remex', STEADY_FLAGS),
]
try {
  const times = { plain: [] as number[], remex: [] as number[] }
  for (let round = 0; round < rounds; round += 1) {
    for (const server of servers) times[server.kind].push(await timeOf(server))
  }
  const { median, low, high } = toRatio(times.plain, times.remex)
  printTable(
    ['CPU efficiency', 'Remex', 'target', '', 'quartiles', 'plain', 'Remex'],
    ['---', '---:', '---:', '---', '---:', '---:', '---:'],
    [
      ...[`NDJSON of ${count} records`, toPercent(median), toPercent(TARGET)],
      ...[toVerdict(median, TARGET, TARGET), `${toPercent(low)} to ${toPercent(high)}`],
      ...[times.plain, times.remex].map((all) => `${toMedian(all).toFixed(0)} ms`),
    ],
  )
  const memories = { plain: await memoryOf(servers[0]), remex: await memoryOf(servers[1]) }
  console.log(`\nMemory over idle, collected: ${memories.remex} MB; by hand ${memories.plain} MB`)
  const isMet = median >= TARGET && memories.remex <= MAX_MEMORY_MB
  if (values.gate && !isMet) process.exitCode = 1
} finally {
  for (const server of servers) await server.stop()
  await database.close()
}

async function timeOf(server: StreamServer): Promise<number> {
  const before = await server.ask('cpu')
  await read(server)
  return (await server.ask('cpu')) - before
}

/** Resolves to how much more memory a server has in the midst of a stream than before it, in MB. */
async function memoryOf(server: StreamServer | undefined): Promise<number> {
  if (server === undefined) return Number.NaN
  const before = await server.ask('memory')
  let isRead = false
  let most = before
  const reading = read(server).finally(() => {
    isRead = true
  })
  while (!isRead) most = Math.max(most, await server.ask('memory'))
  await reading
  return Math.round((most - before) / 1_000_000)
}

function read({ ports }: StreamServer): Promise<void> {
  const headers = { accept: 'application/x-ndjson' }
  return new Promise((resolve, reject) => {
    get({ port: ports.records, path: '/records', headers, agent: false }, (response) => {
      response.on('error', reject).on('end', resolve).resume()
    })
  })
}
