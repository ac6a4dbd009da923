import type { Db } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'

/** Returns a client of a new embedded server; both are closed when the test ends. */
export async function openClient(t: Test): Promise<MongoClient> {
  const server = await startEmbeddedMongo()
  t.teardown(() => server.close())
  const client = new MongoClient(server.url)
  t.teardown(() => client.close())
  return await client.connect()
}

/** Returns a database of a new embedded server. */
export async function openDatabase(t: Test): Promise<Db> {
  const client = await openClient(t)
  return client.db('test')
}
