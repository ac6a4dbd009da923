import type { Db } from 'mongodb'
import { connectMongoDB } from 'remex/mongodb'
import { readVariable } from './environment.ts'

export interface Database {
  readonly db: Db
  /** The name for the log, because the URL may contain a password. */
  readonly description: string
  close(): Promise<void>
}

/**
 * Resolves to the database of this name at `MONGODB_URL`, by default to one in the memory of this
 * process, which is lost when the process ends.
 * @throws {Error} `MONGODB_URL` is not set in production
 */
export async function openDatabase(name: string): Promise<Database> {
  const url = readVariable('MONGODB_URL')
  const embedded = url === undefined ? await startEmbedded() : undefined
  const client = await connectMongoDB(url ?? embedded?.url ?? '')
  return {
    db: client.db(name),
    description: embedded ? 'in memory, which forgets everything' : `${name} at MONGODB_URL`,
    async close() {
      await client.close()
      await embedded?.close()
    },
  }
}

/** Loads the embedded server only where it runs. */
async function startEmbedded() {
  const { startEmbeddedMongo } = await import('remex/embedded')
  return startEmbeddedMongo()
}
