// Files that only their owner can download: a service returns a stream.
// `npx tsx node_modules/remex/examples/private-files.ts`. Reads PORT (3030), HOST (127.0.0.1), MONGODB_URL (an embedded
// database by default), FOLDER (a new one by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import type { FastifyApplication, HookContext, Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, createdBy, limitTo, MongoDBService } from 'remex/mongodb'

interface User {
  readonly _id: ObjectId
}

interface FileRecord {
  readonly _id: ObjectId
  readonly name: string
  readonly text: string
  readonly createdBy: ObjectId
}

type Services = {
  users: MongoDBListService
  files: MongoDBListService<FileRecord>
  downloads: { get(id: string, params: Params): Promise<Readable> }
  authentication: AuthenticationService
}

/** Returns the application. */
export function createFiles(db: Db, folder: string, secret: string): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'email', passwordField: 'password' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy())
  authentication.register('local', new LocalStrategy())
  app.use('authentication', authentication)
  const users = new MongoDBService({ Model: db.collection('users'), hidden: ['password'] })
  app.use('users', users, { methods: ['create'] })
  app.service('users').hooks({
    before: { create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })

  app.use('files', new MongoDBService({ Model: db.collection<FileRecord>('files') }), {
    methods: ['find', 'get', 'create'],
  })
  app.service('files').hooks({
    around: { all: [authenticate('jwt')] },
    before: {
      all: [createdBy(), limitTo<FileRecord>(({ user }) => ({ createdBy: (user as User)._id }))],
    },
    after: {
      create: ({ result }: HookContext) => {
        const { _id, text } = result as FileRecord
        return writeFile(join(folder, String(_id)), text)
      },
    },
  })

  app.use('downloads', {
    async get(id: string, params: Params): Promise<Readable> {
      // With the params of the caller, it finds only files of the caller.
      const { _id } = await app.service('files').get(id, params)
      const file = await open(join(folder, String(_id)))
      return file.createReadStream()
    },
  })
  app.service('downloads').hooks({
    after: {
      get: (context: HookContext) => {
        context.http.headers = {
          ...context.http.headers,
          'content-type': 'application/octet-stream',
          // Never shown as a page: it might contain scripts.
          'content-disposition': 'attachment',
        }
      },
    },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const { FOLDER = mkdtempSync(join(tmpdir(), 'files-')) } = process.env
  const { AUTH_SECRET = randomBytes(32).toString('base64') } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createFiles(client.db('remex_files'), FOLDER, AUTH_SECRET)
  await app.listen({ port: Number(PORT), host: HOST })
  console.log(`Files in ${FOLDER}, services at http://${HOST}:${PORT}. Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
