// Files of users: uploads, downloads with ranges, signed links. Try the lines it prints.
// `npm install @fastify/multipart`, then `npx tsx node_modules/remex/examples/files.ts`. Reads PORT (3030), HOST
// (127.0.0.1), MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import type { FastifyApplication, HookContext } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { authentication, createClient } from 'remex/client'
import { files } from 'remex/client/files'
import { startEmbeddedMongo } from 'remex/embedded'
import type { FileRecord } from 'remex/files'
import { FileService } from 'remex/files'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, limitTo, MongoDBService } from 'remex/mongodb'

interface Attachment extends FileRecord {
  readonly _id: ObjectId
  readonly ticket?: string
  readonly ownerId: ObjectId
  readonly url?: string
}

type Services = {
  users: MongoDBListService
  attachments: FileService<Attachment>
  authentication: AuthenticationService
}

/** Returns the application. */
export function createDesk(db: Db, secret: string): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'name', passwordField: 'password' },
  })
  const logins = new AuthenticationService(app)
  logins.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', logins)
  const indexes = [{ key: { name: 1 }, unique: true }] as const
  const users = new MongoDBService({ Model: db.collection('users'), indexes, hidden: ['password'] })
  app.use('users', users, { methods: ['create'] })
  app.service('users').hooks({
    before: { create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })

  const attachments = new FileService<Attachment>({
    Model: db.collection<Attachment>('attachments'),
    maxBytes: 10_000_000,
    types: ['image/*', 'application/pdf', 'text/plain'],
    forms: true,
    linkSecret: secret,
  })
  app.use('attachments', attachments)
  app.service('attachments').hooks({
    around: { all: [authenticate('jwt')] },
    before: { all: [limitTo(({ user }) => ({ ownerId: (user as { _id: ObjectId })._id }))] },
    after: {
      get: [
        async (context: HookContext) => {
          const url = attachments.createLink(context.id as string, { expiresInMs: 60_000 })
          context.result = { ...(context.result as Attachment), url }
        },
      ],
    },
  })
  return app
}

/** Sends a file as a user and resolves to what comes back. */
export async function sendNote(
  baseURL: string,
  login: { readonly name: string; readonly password: string },
): Promise<string> {
  const client = createClient<Services>({ baseURL })
  client.configure(authentication()).configure(files())
  await client.authenticate({ strategy: 'local', ...login })
  const file = new File(['The printer is on fire'], 'note.txt', { type: 'text/plain' })
  const attachment = await client.service('attachments').upload(
    file,
    { ticket: '7' },
    {
      onProgress: ({ sent, total }) => console.log(`${sent} of ${total} bytes`),
      signal: AbortSignal.timeout(60_000),
    },
  )
  const content = await client.service('attachments').download(attachment._id)
  return content.text()
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const mongo = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createDesk(mongo.db('remex_files'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url}/users ${json} -d '{"name":"Ann","password":"correct horse battery"}'
  curl ${url}/authentication ${json} -d '{"strategy":"local","name":"Ann","password":"correct horse battery"}'
  curl '${url}/attachments?name=note.txt&ticket=7' -H 'authorization: Bearer <accessToken>' -T note.txt -X POST
  curl ${url}/attachments/<_id>/content -H 'authorization: Bearer <accessToken>' -r 0-99

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
