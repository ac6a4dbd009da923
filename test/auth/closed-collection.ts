import type { Collection } from 'mongodb'
import { MongoClient } from 'mongodb'

/** Returns a collection of the driver whose client is closed: each command fails. */
export async function createClosedCollection(): Promise<Collection<{ _id: string }>> {
  const client = new MongoClient('mongodb://127.0.0.1')
  await client.close()
  return client.db('test').collection('closed')
}
