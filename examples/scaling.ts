// One of many processes that share a database: shared state is in a collection, or signed. Start it
// several times, each with its own PORT, all with the same MONGODB_URL and AUTH_SECRET. Without these,
// it runs as a single process with an embedded database.
// `npx tsx node_modules/remex/examples/scaling.ts`.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { Application, FastifyApplication, HookContext } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  CollectionRevocationList,
  CollectionThrottleStore,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'

interface User {
  email: string
  password: string
}

interface Note {
  text: string
  /** The email of the author. */
  author: string
}

export type NoteServices = {
  users: MongoDBListService<User>
  notes: MongoDBListService<Note>
  authentication: AuthenticationService
}

/** Lets the database remove expired records. */
async function forgetExpired(db: Db): Promise<void> {
  const ttl = { expireAfterSeconds: 0 }
  for (const name of ['revoked', 'logins']) {
    await db.collection(name).createIndex({ expiresAt: 1 }, ttl)
  }
}

/** Adds logins with limits and logouts that apply to all processes with this database and secret. */
export function addLogins(app: Application<NoteServices>, db: Db, secret: string): void {
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    jwtOptions: {
      audience: 'https://notes.example',
      issuer: 'notes',
      expiresIn: '1h',
    },
    local: { usernameField: 'email', passwordField: 'password' },
    revocation: new CollectionRevocationList(db.collection('revoked')),
    loginThrottle: {
      store: new CollectionThrottleStore(db.collection('logins')),
    },
  })

  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
}

/** Adds users, and notes that are sharded by author. */
export function addNotes(app: Application<NoteServices>, db: Db): void {
  app.use(
    'users',
    new MongoDBService({
      Model: db.collection<User>('users'),
      hidden: ['password'],
      indexes: [{ key: { email: 1 }, unique: true }],
    }),
    { methods: ['get', 'create'] },
  )
  app.service('users').hooks({
    before: { get: [authenticate('jwt')], create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })

  app.use(
    'notes',
    new MongoDBService({
      Model: db.collection<Note>('notes'),
      shardKey: ['author'],
      indexes: [{ key: { author: 1 } }],
    }),
  )
  app.service('notes').hooks({
    before: { all: [authenticate('jwt'), byAuthor] },
  })
}

/** Limits callers to their own notes. The condition also selects one shard. */
function byAuthor(context: HookContext): void {
  const { email: author } = context.params.user as User
  context.params.query = { ...context.params.query, author }
  if (context.data !== undefined) {
    context.data = { ...(context.data as object), author }
  }
}

/** Ends after the running requests, so that the process can be replaced. */
function closeOnSignal(app: FastifyApplication<NoteServices>, close: () => Promise<unknown>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void app.close().finally(close))
  }
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongoUrl = MONGODB_URL ?? embedded?.url ?? ''
  const client = await connectMongoDB(mongoUrl, { maxPoolSize: 20 })
  const db = client.db('remex_scaling')

  const app = fastifyApp(createApp<NoteServices>()).configure(rest())
  await forgetExpired(db)
  addLogins(app, db, AUTH_SECRET ?? randomBytes(32).toString('base64url'))
  addNotes(app, db)
  closeOnSignal(app, async () => {
    await client.close()
    await embedded?.close()
  })
  await app.listen({ port: Number(PORT), host: HOST })
  console.log(`Notes at http://${HOST}:${PORT}, process ${process.pid}. Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
