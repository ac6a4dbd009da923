import { exitWithMessage, StartError } from 'remex'
import { connectMongoDB } from 'remex/mongodb'
import { createApi } from './app.ts'
import { readSettings } from './settings.ts'

async function start(): Promise<void> {
  const { port, host, mongodbUrl, ...options } = readSettings()
  if (!mongodbUrl) throw new StartError('MONGODB_URL is not set: copy .env.example to .env')
  const mongo = await connectMongoDB(mongodbUrl)
  const app = createApi(mongo.db('my-app'), options)
  await app.listen(port, host)
  console.log(`The API is at ${app.fastify.listeningOrigin}/docs`)

  async function stop() {
    // Calls that are still running finish first.
    await app.close()
    await mongo.close()
  }

  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
}

await start().catch(exitWithMessage)
