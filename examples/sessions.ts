// Sessions: short access tokens, single-use refresh tokens, logins that the server can end. Try the lines it prints.
// `npx tsx node_modules/remex/examples/sessions.ts`. Reads PORT (3030), HOST (127.0.0.1),
// MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import type { ServedSessions, SessionOptions, SessionRecord } from 'remex/auth'
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
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Id = ObjectIdSchema()
const Email = Type.String({ format: 'email', maxLength: 254 })
const NewUser = Type.Object({ email: Email, password: Type.String({ minLength: 12 }) })
const User = Type.Object({ _id: Id, ...NewUser.properties })
type User = Static<typeof User>
const PublicUser = Type.Omit(User, ['password'])

type Services = {
  // `find` returns a list, because the service has no option `paginate`.
  users: MongoDBListService<User>
  sessions: ServedSessions<MongoDBService<SessionRecord>>
  authentication: AuthenticationService
}

/** Returns the application. */
export function createAccounts(
  db: Db,
  secret: string,
  options: Partial<SessionOptions> = {},
): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'email', passwordField: 'password' },
    sessions: { service: 'sessions', ...options },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
  app.use(
    'sessions',
    new MongoDBService({
      Model: db.collection<SessionRecord>('sessions'),
      paginate: { default: 20 },
    }),
    { methods: ['find', 'get', 'remove'] },
  )

  const users = new MongoDBService({
    Model: db.collection<User>('users'),
    hidden: ['password'],
    indexes: [{ key: { email: 1 }, unique: true }],
  })
  app.use('users', users, {
    methods: ['get', 'create'],
    schemas: { entity: PublicUser, create: NewUser },
  })
  app.service('users').hooks({
    around: { get: [authenticate('jwt')] },
    before: { create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })
  return app
}

// Does not start when a test imports this file.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await connectMongoDB(MONGODB_URL ?? embedded?.url ?? '')
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createAccounts(mongo.db('remex_sessions'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  console.log(`JSON='content-type: application/json'; U=http://${HOST}:${PORT}
curl $U/users -H "$JSON" -d '{"email":"ada@example.org","password":"correct horse battery"}'
curl $U/authentication -H "$JSON" -d '{"strategy":"local","email":"ada@example.org","password":"correct horse battery"}'
curl $U/authentication -H "$JSON" -d '{"strategy":"refresh","refreshToken":"…"}'
curl $U/sessions -H "authorization: Bearer …"`)
}
