// A client in a page that gets the writes of other clients, as a Feathers client does over sockets, and its
// server. docs/guides/migrating-from-feathers.md shows both clients. Ends by itself.
// `npx tsx node_modules/remex/examples/feathers-client.ts`. Uses an embedded database.
import type { AddressInfo } from 'node:net'
import { createApp, fastifyApp, rest } from 'remex'
import { authentication, createClient, MemoryStorage } from 'remex/client'
import { realtime } from 'remex/client/realtime'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'
import { realtime as liveQueries } from 'remex/realtime'

interface Message {
  text: string
}

interface Services {
  messages: MongoDBListService<Message>
}

const database = await startEmbeddedMongo()
const mongo = await connectMongoDB(database.url)
const app = fastifyApp(createApp<Services>())
app.configure(rest())
app.configure(liveQueries())
app.use(
  'messages',
  new MongoDBService({ Model: mongo.db('remex').collection<Message>('messages') }),
)
const server = await app.listen({ port: 0, host: '127.0.0.1' })
const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

// In a page, `window.localStorage`.
const storage = new MemoryStorage()

const feathersClient = createClient<Services>({ baseURL: host })
feathersClient.configure(authentication({ storage }))
feathersClient.configure(realtime())

const messages = await feathersClient.service('messages').live({ query: { $sort: { _id: 1 } } })
const changed = new Promise((resolve) => messages.on('change', resolve))

await createClient<Services>({ baseURL: host }).service('messages').create({ text: 'Hello' })
await changed
console.log(`${messages.data[0]?.text}, written by another client`)

messages.close()
await app.close()
await mongo.close()
await database.close()
