// The first lines of docs/reference/embedded.md: a database in this process. Ends by itself.
// `npx tsx node_modules/remex/examples/embedded.ts`.
import { MongoClient } from 'mongodb'
import { startEmbeddedMongo } from 'remex/embedded'

const server = await startEmbeddedMongo()
const client = new MongoClient(server.url)
const messages = client.db('app').collection('messages')
await messages.insertOne({ text: 'Hello' })
console.log(await messages.countDocuments()) // 1

await client.close()
await server.close()
