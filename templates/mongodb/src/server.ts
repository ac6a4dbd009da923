import { existsSync } from 'node:fs'
import { connectMongoDB } from 'remex/mongodb'
import { createApi } from './app.ts'

if (existsSync('.env')) process.loadEnvFile()
// `npm run dev` passes `--dev`. The developer page is only served in development.
if (process.argv.includes('--dev')) process.env['NODE_ENV'] ||= 'development'
const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
if (!MONGODB_URL) throw new Error('MONGODB_URL is not set: copy .env.example to .env')

const mongo = await connectMongoDB(MONGODB_URL)
const app = createApi(mongo.db('my-app'))
await app.listen({ port: Number(PORT), host: HOST })
console.log(`The API is at ${app.fastify.listeningOrigin}/docs`)

async function stop() {
  // Calls that are still running finish first.
  await app.close()
  await mongo.close()
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
