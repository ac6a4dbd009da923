// Starts the blog. Reads PORT (3030), HOST (127.0.0.1), MONGODB_URL (a database in memory by
// default), AUTH_SECRET (a new one at each start by default, which ends all logins) and IMAGE_FOLDER
// (`images`, next to the compiled files). If NODE_ENV is `production`, MONGODB_URL and AUTH_SECRET are
// required.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createBlog } from './app.ts'
import { openDatabase } from './database.ts'
import { readVariable } from './environment.ts'

const { PORT = '3030', HOST = '127.0.0.1', IMAGE_FOLDER } = process.env

const secret = readVariable('AUTH_SECRET') ?? randomBytes(32).toString('base64url')
const database = await openDatabase('blog')
const app = await createBlog({
  db: database.db,
  secret,
  imageFolder: IMAGE_FOLDER ?? fileURLToPath(new URL('../images', import.meta.url)),
})
await app.listen({ port: Number(PORT), host: HOST })
console.log(`The database is ${database.description}.`)
console.log(
  `The blog is at ${app.fastify.listeningOrigin}: README.md has lines to try. Ctrl-C ends it.`,
)

async function stop(): Promise<void> {
  await app.close()
  await database.close()
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())
