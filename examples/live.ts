// The first lines of docs/reference/realtime.md: tasks to follow, on an embedded database.
// `npx tsx node_modules/remex/examples/live.ts`. Reads PORT and HOST.
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'
import { realtime } from 'remex/realtime'

const client = await connectMongoDB((await startEmbeddedMongo()).url)
const app = fastifyApp(createApp())
app.configure(rest())
app.configure(realtime())
app.use('tasks', new MongoDBService({ Model: client.db('remex').collection('tasks') }))

const { PORT = '3030', HOST = '127.0.0.1' } = process.env
await app.listen({ port: Number(PORT), host: HOST })
