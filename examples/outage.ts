// Starts before its database does, and works as soon as it is available.
// `npx tsx node_modules/remex/examples/outage.ts`. Ends by itself.

import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { MongoClient } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'

const mongoPort = await findFreePort()

// Calls end within 3.5 seconds, even if the database is down or hangs.
let connecting: Promise<MongoClient> | undefined
function connect(): Promise<MongoClient> {
  const url = `mongodb://127.0.0.1:${mongoPort}/?directConnection=true`
  connecting ??= connectMongoDB(url)
  // After a failure, the next call connects again.
  // A connected client reconnects by itself.
  connecting.catch(() => {
    connecting = undefined
  })
  return connecting
}

const app = fastifyApp(createApp()).configure(rest())
const Model = async () => (await connect()).db('outage').collection('notes')
app.use('notes', new MongoDBService({ Model }))
app.logger = { error: () => undefined, warn: () => undefined, info: () => undefined }

const server = await app.listen(0)
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const statusOf = async (path: string): Promise<number> => (await fetch(`${url}${path}`)).status

console.log('without a database: ready', await statusOf('/health/ready'))
console.log('without a database: notes', await statusOf('/notes'))

const embedded = await startEmbeddedMongo({ port: mongoPort })

console.log('with a database: ready', await statusOf('/health/ready'))
console.log('with a database: notes', await statusOf('/notes'))

await app.close()
await (await connect()).close()
await embedded.close()

async function findFreePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}
