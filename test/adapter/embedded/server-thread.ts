import { parentPort } from 'node:worker_threads'
import { MongoClient } from 'mongodb'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'

/** A thread of `server.test.ts` with a server of its own. */
const server = await startEmbeddedMongo()
const client = new MongoClient(server.url)
const { ok } = await client.db('x').command({ ping: 1 })
await client.close()
await server.close()
parentPort?.postMessage({ ok })
