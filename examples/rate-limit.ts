// Rate limits: each IP address may write ten messages a minute, across all processes. Try the lines it
// prints. `npx tsx node_modules/remex/examples/rate-limit.ts`. Reads PORT (3030), HOST (127.0.0.1) and
// MONGODB_URL (an embedded database by default).
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { CollectionThrottleStore, rateLimit } from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'

interface Message {
  text: string
}

type Services = { messages: MongoDBListService<Message> }

/** Returns the application. */
export async function createMessages(db: Db): Promise<FastifyApplication<Services>> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.use('messages', new MongoDBService({ Model: db.collection<Message>('messages') }))

  const limits = db.collection('limits')
  // Lets the database remove counters of past windows.
  await limits.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })
  const store = new CollectionThrottleStore(limits)
  app.service('messages').hooks({
    around: {
      all: [rateLimit({ max: 100, name: 'messages', store })],
      create: [rateLimit({ max: 10, store })],
    },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = await createMessages(client.db('remex_limits'))
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  for n in $(seq 11); do curl -i ${url}/messages ${json} -d '{"text":"Hello"}'; done # the last one: 429

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
