// Starts before its database is there, and works as soon as it is:
// `npm run build:examples && node build/examples/outage.js`. Ends by itself.

import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { MongoDBService } from 'remex/mongodb'

const mongoPort = await findFreePort()

// Without these a call waits 30 seconds for a database that is gone, and forever for one that hangs.
const client = new MongoClient(`mongodb://127.0.0.1:${mongoPort}/?directConnection=true`, {
  serverSelectionTimeoutMS: 3_000,
  connectTimeoutMS: 3_000,
  socketTimeoutMS: 10_000,
  waitQueueTimeoutMS: 1_000,
  maxPoolSize: 50,
})

// The driver tries to connect once: what comes after an attempt that failed finds it closed.
async function connectUntilThere(): Promise<void> {
  for (;;) {
    try {
      await client.connect()
      return
    } catch (error) {
      console.log(`no database yet: ${(error as Error).message}`)
      await delay(500)
    }
  }
}

const connected = connectUntilThere()

const app = fastifyApp(createApp()).configure(rest())
app.use('notes', new MongoDBService({ Model: client.db('outage').collection('notes') }))
app.logger = { error: () => undefined, warn: () => undefined, info: () => undefined }

const server = await app.listen(0)
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const statusOf = async (path: string): Promise<number> => (await fetch(`${url}${path}`)).status

console.log('without a database: ready', await statusOf('/health/ready'))
console.log('without a database: notes', await statusOf('/notes'))

const embedded = await startEmbeddedMongo({ port: mongoPort })
await connected

console.log('with a database: ready', await statusOf('/health/ready'))
console.log('with a database: notes', await statusOf('/notes'))

await app.close()
await client.close()
await embedded.close()

async function findFreePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}
