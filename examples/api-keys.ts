// API keys: users create keys for their programs, with scopes that limit what these may do. Try the lines it
// prints. `npx tsx node_modules/remex/examples/api-keys.ts`. Reads PORT (3030), HOST (127.0.0.1),
// MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication, HookContext } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import type { ApiKeyRecord, ServedApiKeys } from 'remex/auth'
import {
  ApiKeyStrategy,
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
  requireScope,
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

const NewNote = Type.Object({ text: Type.String({ minLength: 1, maxLength: 2000 }) })
const Note = Type.Object({ _id: Id, ...NewNote.properties, userId: Type.Optional(Type.String()) })
type Note = Static<typeof Note>

type Services = {
  users: MongoDBListService<User>
  notes: MongoDBListService<Note>
  'api-keys': ServedApiKeys<MongoDBService<ApiKeyRecord>>
  authentication: AuthenticationService
}

/** Only own notes: tokens and keys have the user in `sub`. */
function restrictToOwner({ data, params }: HookContext): void {
  const userId = params.authentication?.payload?.sub
  if (data === undefined) params.query = { ...params.query, userId }
  else Object.assign(data as object, { userId })
}

/** Ends all keys of users who get a new password: others may have made them. */
async function endKeys({ app, data, result }: HookContext): Promise<void> {
  if (!Object.hasOwn(data as object, 'password')) return
  const users = [result as { _id: unknown }].flat()
  const $in = users.map(({ _id }) => String(_id))
  const params = { query: { userId: { $in } }, adapter: { multi: ['remove'] } }
  await app.service('api-keys').remove(null, params)
}

/** Returns the application. */
export function createNotes(db: Db, secret: string): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    parseStrategies: ['jwt', 'api-key'],
    local: { usernameField: 'email', passwordField: 'password' },
    'api-key': {
      service: 'api-keys',
      prefix: 'acme',
      scopes: ['notes:read', 'notes:write'],
    },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  authentication.register('api-key', new ApiKeyStrategy())
  app.use('authentication', authentication)
  app.use(
    'api-keys',
    new MongoDBService({
      Model: db.collection<ApiKeyRecord>('api-keys'),
      paginate: { default: 20 },
    }),
    { methods: ['find', 'get', 'create', 'remove'] },
  )

  const users = new MongoDBService({
    Model: db.collection<User>('users'),
    hidden: ['password'],
    indexes: [{ key: { email: 1 }, unique: true }],
  })
  app.use('users', users, {
    methods: ['create'],
    schemas: { entity: PublicUser, create: NewUser },
  })
  app.service('users').hooks({
    before: { create: [hashPassword('password')], patch: [hashPassword('password')] },
    after: { all: [protect('password')], patch: [endKeys] },
  })

  app.use('notes', new MongoDBService({ Model: db.collection<Note>('notes') }), {
    methods: ['find', 'create'],
    schemas: { entity: Note, create: NewNote },
  })
  app.service('notes').hooks({
    before: {
      all: [authenticate('jwt', 'api-key')],
      find: [requireScope('notes:read'), restrictToOwner],
      create: [requireScope('notes:write'), restrictToOwner],
    },
  })
  return app
}

// Does not start when a test imports this file.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await connectMongoDB(MONGODB_URL ?? embedded?.url ?? '')
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createNotes(mongo.db('remex_api_keys'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  console.log(`JSON='content-type: application/json'; U=http://${HOST}:${PORT}
curl $U/users -H "$JSON" -d '{"email":"ada@example.org","password":"correct horse battery"}'
curl $U/authentication -H "$JSON" -d '{"strategy":"local","email":"ada@example.org","password":"correct horse battery"}'
curl $U/api-keys -H "$JSON" -H "authorization: Bearer …" -d '{"name":"backup","scopes":["notes:read"]}'
curl $U/notes -H "x-api-key: acme_…"`)
}
