import { parseArgs } from 'node:util'
import type { Collection } from 'mongodb'

import { MongoDBService } from 'remex/mongodb'
import { openBenchDatabase } from './database.ts'
import { printTable } from './table.ts'

// How much memory a patch of many takes: node --expose-gc build/bench/adapter-memory.js [--gate]

const SIZES = [10_000, 100_000]

/** What a patch without an answer may take, and one with an answer besides that answer. */
const MOST_BYTES = { without: 4_000_000, with: 16_000_000 } as const

const { values } = parseArgs({ options: { gate: { type: 'boolean', default: false } } })

const { client, db, close } = await openBenchDatabase()
try {
  printTable(
    ['patch of', 'answer', 'live heap at most, MB', 'of it the answer, MB', 'the rest, MB', ''],
    ['---:', '---', '---:', '---:', '---:', '---'],
  )
  for (const size of SIZES) {
    const people = db.collection(`people_${size}`)
    await fill(people, size)
    const service = new MongoDBService({ Model: people, multi: true })
    const query = { age: { $gte: 0 } }
    await measure(size, 'without', () =>
      service.patch(null, { $inc: { seen: 1 } }, { query, docdb: { returning: false } }),
    )
    await measure(size, 'with', () => service.patch(null, { $inc: { seen: 1 } }, { query }))
  }
} finally {
  await close()
}

async function fill(people: Collection, size: number): Promise<void> {
  for (let start = 0; start < size; start += 10_000) {
    const slice = Array.from({ length: 10_000 }, (_, index) => ({ age: start + index, seen: 0 }))
    await people.insertMany(slice)
  }
}

/** Reads the live heap before each command, when the records of the one before have arrived. */
async function measure(
  size: number,
  answer: keyof typeof MOST_BYTES,
  patch: () => Promise<unknown>,
): Promise<void> {
  const before = readHeap()
  let most = 0
  const read = (): void => {
    most = Math.max(most, readHeap() - before)
  }
  client.on('commandStarted', read)
  const result = await patch()
  client.off('commandStarted', read)
  const held = readHeap() - before
  read()
  const rest = most - held
  const count = Array.isArray(result) ? result.length : 0
  if (answer === 'with' && count !== size) throw new Error(`${count} records came back`)
  const isMet = rest <= MOST_BYTES[answer]
  if (values.gate && !isMet) process.exitCode = 1
  printTable([
    ...[String(size), answer],
    ...[most, held, rest].map((bytes) => (bytes / 1e6).toFixed(1)),
    isMet ? `at most ${MOST_BYTES[answer] / 1e6}: met` : 'MISSED',
  ])
}

function readHeap(): number {
  if (globalThis.gc === undefined) throw new Error('Run it with node --expose-gc')
  globalThis.gc()
  return process.memoryUsage().heapUsed
}
