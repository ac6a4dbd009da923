import { exitWithMessage } from 'remex'
import { connectMongoDB } from 'remex/mongodb'
import { createApi } from './app.ts'
import { readSettings } from './settings.ts'

async function start(): Promise<void> {
  const { port, host, mongodbUrl, ...options } = readSettings()
  const embedded = mongodbUrl === undefined ? await startEmbedded() : undefined
  const mongo = await connectMongoDB(mongodbUrl ?? embedded?.url ?? '')
  const app = createApi(mongo.db('my-app'), options)
  await app.listen(port, host)
  console.log(`The API is at ${app.fastify.listeningOrigin}/docs`)

  async function stop() {
    // Calls that are still running finish first.
    await app.close()
    await mongo.close()
    await embedded?.close()
  }

  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
}

/** Starts the database for development, inside this process. */
async function startEmbedded() {
  // Loaded only if it runs.
  const { startEmbeddedMongo } = await import('remex/embedded')
  return startEmbeddedMongo({ directory: '.data' })
}

await start().catch(exitWithMessage)
