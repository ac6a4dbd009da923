import type { Db } from 'mongodb'
import { connectMongoDB } from 'remex/mongodb'

export interface Database {
  readonly db: Db
  close(): Promise<void>
}

/**
 * Resolves to the database of this name at `MONGODB_URL`. Where that is not set, it is one in the
 * memory of this process, which forgets everything when it ends.
 */
export async function openDatabase(name: string): Promise<Database> {
  const { MONGODB_URL } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbedded() : undefined
  const client = await connectMongoDB(MONGODB_URL ?? embedded?.url ?? '')
  return {
    db: client.db(name),
    async close() {
      await client.close()
      await embedded?.close()
    },
  }
}

/** Production never loads the embedded server. */
async function startEmbedded() {
  const { startEmbeddedMongo } = await import('remex/embedded')
  return startEmbeddedMongo()
}
