import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'

/** A worker of `server.test.ts`: tries to start a server of its own, and writes to that of `url`. */
const { url = '' } = process.env
const own = await startEmbeddedMongo().then(
  (server) => ({ url: server.url }),
  ({ name, message }: Error) => ({ name, message }),
)
const client = new MongoClient(url)
const records: Document[] = Array.from({ length: 20 }, () => ({}))
await client.db('x').collection('c').insertMany(records)
await client.close()
process.send?.(own, () => process.disconnect())
