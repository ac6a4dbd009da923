import { once } from 'node:events'
import { get, request } from 'node:http'
import { parseArgs } from 'node:util'
import { openBenchDatabase, passCollection } from './database.ts'
import type { ServerProcess } from './rest-server.ts'
import { STEADY_FLAGS, startServer } from './rest-server.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// Compares uploads and downloads with the same by hand, on Fastify and GridFS:
// node build/bench/files.js [--quick] [--gate] [--megabytes=100] [--rounds=15]

/** At most 1.2 times the CPU time by hand. */
const TARGET = 1 / 1.2
const MAX_MEMORY_MB = 40

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    megabytes: { type: 'string', default: '100' },
    rounds: { type: 'string' },
  },
  strict: false,
})
const body = Buffer.alloc(Number(values.megabytes) * 1_000_000, 'of any type')
const rounds = Number(values.rounds ?? (values.quick ? 5 : 15))

type Kind = 'plain' | 'remex'
type FileServer = ServerProcess<Kind>

const database = await openBenchDatabase()
const records = database.db.collection('files')
passCollection(database, records)
const file = new URL('./files-child.js', import.meta.url)
const servers: readonly FileServer[] = [
  await startServer<Kind>(file, 'plain', STEADY_FLAGS),
  await startServer<Kind>(file, 'remex', STEADY_FLAGS),
]
const STEPS = ['upload', 'download'] as const
/** The file that a server has stored last. */
let id = ''
const transfer = {
  upload: async (server: FileServer) => {
    id = await upload(server)
  },
  download: (server: FileServer) => download(server, id),
}
const createTimes = () => ({ plain: [] as number[], remex: [] as number[] })
const times = { upload: createTimes(), download: createTimes() }
try {
  for (let round = 0; round < rounds; round += 1) {
    for (const server of servers) {
      const { kind } = server
      for (const name of STEPS) {
        const cpu = await server.ask('cpu')
        await transfer[name](server)
        times[name][kind].push((await server.ask('cpu')) - cpu)
      }
      await empty()
    }
  }
  const ratios = STEPS.map((name) => toRatio(times[name].plain, times[name].remex))
  printTable(
    ['CPU efficiency', 'Remex', 'target', '', 'quartiles', 'plain', 'Remex'],
    ['---', '---:', '---:', '---', '---:', '---:', '---:'],
    ...STEPS.map((name, index) => {
      const { median = 0, low, high } = ratios[index] ?? {}
      return [
        ...[`${name} of ${values.megabytes} MB`, toPercent(median), toPercent(TARGET)],
        ...[toVerdict(median, TARGET, TARGET), `${toPercent(low)} to ${toPercent(high)}`],
        ...[times[name].plain, times[name].remex].map((all) => `${toMedian(all).toFixed(0)} ms`),
      ]
    }),
  )
  const memories: Record<Kind, string[]> = { plain: [], remex: [] }
  for (const server of servers) {
    for (const name of STEPS) memories[server.kind].push(`${await memoryOf(server, name)} MB`)
  }
  const [remex, plain] = [memories.remex, memories.plain].map((both) => both.join(' and '))
  console.log(`\nMemory over idle, collected, up and down: ${remex}; by hand ${plain}`)
  const isFlat = memories.remex.every((used) => Number.parseInt(used, 10) <= MAX_MEMORY_MB)
  const isMet = isFlat && ratios.every(({ median }) => median >= TARGET)
  if (values.gate && !isMet) process.exitCode = 1
} finally {
  for (const server of servers) await server.stop()
  await database.close()
}

/** Removes all files. The servers take no part. */
async function empty(): Promise<void> {
  for (const one of ['files', 'files.files', 'files.chunks']) {
    await database.db.collection(one).deleteMany({})
  }
}

/** Resolves to how much more memory a server has in the midst of a transfer than before it, in MB. */
async function memoryOf(server: FileServer, name: (typeof STEPS)[number]): Promise<number> {
  const before = await server.ask('memory')
  let isDone = false
  let most = before
  const running = transfer[name](server).finally(() => {
    isDone = true
  })
  while (!isDone) most = Math.max(most, await server.ask('memory'))
  await running
  return Math.round((most - before) / 1_000_000)
}

async function upload({ ports }: FileServer): Promise<string> {
  const headers = { 'content-type': 'application/x-bench', 'content-length': body.length }
  const sent = request({
    ...{ port: ports.records, path: '/files?name=a', method: 'POST', headers, agent: false },
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const part of response) text += part
  return JSON.parse(text)._id
}

function download({ ports }: FileServer, id: string): Promise<void> {
  const options = { port: ports.records, path: `/files/${id}/content`, agent: false }
  return new Promise((resolve, reject) => {
    get(options, (response) => {
      let size = 0
      response.on('data', (part: Buffer) => {
        size += part.length
      })
      response.on('error', reject).on('end', () => {
        if (size === body.length) resolve()
        else reject(new Error(`${size} bytes`))
      })
    }).on('error', reject)
  })
}
