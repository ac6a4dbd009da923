import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Collection, Db } from 'mongodb'
import { MongoClient } from 'mongodb'

/** A database of its own, which is dropped at the end. */
export interface BenchDatabase {
  /** Of the server, for other processes. */
  readonly url: string
  readonly client: MongoClient
  readonly db: Db
  close(): Promise<void>
}

/**
 * Resolves to a database of `MONGODB_URL`, else of the embedded server in another process: its time and
 * its memory are not those of the client.
 */
export async function openBenchDatabase(): Promise<BenchDatabase> {
  const given = process.env.MONGODB_URL
  const { url, stop } = given ? { url: given, stop: () => undefined } : await startChild()
  const client = new MongoClient(url, { monitorCommands: true })
  const db = client.db(`remex_bench_${process.pid}`)
  return {
    url,
    client,
    db,
    async close() {
      await db.dropDatabase()
      await client.close()
      stop()
    },
  }
}

async function startChild(): Promise<{ url: string; stop: () => void }> {
  const child = fork(fileURLToPath(new URL('./database-child.js', import.meta.url)), {
    execArgv: [],
  })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return { url, stop: () => child.disconnect() }
}

/** Names a collection to the processes that are started from now on. */
export function passCollection({ url }: BenchDatabase, { namespace }: Collection): void {
  Object.assign(process.env, { BENCH_URL: url, BENCH_COLLECTION: namespace })
}

/** Resolves to the collection that the parent has named. */
export async function openPassedCollection(): Promise<Collection> {
  const { BENCH_URL = '', BENCH_COLLECTION = '' } = process.env
  const [database = '', name = ''] = BENCH_COLLECTION.split('.')
  return (await new MongoClient(BENCH_URL).connect()).db(database).collection(name)
}
