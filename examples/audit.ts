// Pages that store who wrote them and when, and a log of each change, in the same transaction. Try the
// lines it prints. `npx tsx node_modules/remex/examples/audit.ts`. Reads PORT (3030), HOST (127.0.0.1),
// MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication } from 'remex'
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
import type { AuditEntry, MongoDBListService } from 'remex/mongodb'
import {
  audit,
  connectMongoDB,
  createdBy,
  MongoDBService,
  ObjectIdSchema,
  timestamps,
  updatedBy,
} from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { DateSchema, Type } from 'remex/schema'

const Id = ObjectIdSchema()

const NewUser = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  password: Type.String({ minLength: 12 }),
})
const User = Type.Object({ _id: Id, ...NewUser.properties })
type User = Static<typeof User>

const NewPage = Type.Object({ text: Type.String({ maxLength: 10_000 }) })
const Page = Type.Object({
  _id: Id,
  ...NewPage.properties,
  createdAt: DateSchema(),
  updatedAt: DateSchema(),
  createdBy: Id,
  updatedBy: Id,
})
type Page = Static<typeof Page>

// Converts the string in `?recordId=…` to an ObjectId. A string would match no entry.
const Change = Type.Object({
  _id: Id,
  at: DateSchema(),
  by: Id,
  service: Type.String(),
  method: Type.String(),
  recordId: Id,
  fields: Type.Array(Type.String()),
  values: Type.Record(Type.String(), Type.Unknown()),
})

type Services = {
  users: MongoDBListService<User>
  pages: MongoDBListService<Page>
  changes: MongoDBListService<AuditEntry>
  authentication: AuthenticationService
}

/** Returns the application. */
export function createPages(db: Db, secret: string): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'name', passwordField: 'password' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)

  const users = new MongoDBService({
    Model: db.collection<User>('users'),
    hidden: ['password'],
    indexes: [{ key: { name: 1 }, unique: true }],
  })
  app.use('users', users, {
    methods: ['create'],
    schemas: { entity: Type.Omit(User, ['password']), create: NewUser },
  })
  app.service('users').hooks({
    around: { all: [audit({ service: 'changes' })] },
    before: { create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })

  app.use('pages', new MongoDBService({ Model: db.collection<Page>('pages') }), {
    methods: ['get', 'create', 'patch', 'remove'],
    schemas: { entity: Page, create: NewPage },
  })
  app.service('pages').hooks({
    around: { all: [authenticate('jwt'), audit({ service: 'changes' })] },
    before: { all: [timestamps(), createdBy(), updatedBy()] },
  })

  const days = 24 * 60 * 60
  const changes = new MongoDBService({
    Model: db.collection<AuditEntry>('changes'),
    indexes: [
      { key: { recordId: 1 } },
      // Entries are removed after a year.
      { key: { at: 1 }, expireAfterSeconds: 365 * days },
    ],
  })
  app.use('changes', changes, { methods: ['find'], schemas: { entity: Change } })
  app.service('changes').hooks({ around: { all: [authenticate('jwt')] } })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createPages(client.db('remex_audit'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url}/users ${json} -d '{"name":"Ann","password":"correct horse battery"}'
  curl ${url}/authentication ${json} -d '{"strategy":"local","name":"Ann","password":"correct horse battery"}'
  AUTH="authorization: Bearer ..." # the accessToken from that response
  curl ${url}/pages ${json} -H "$AUTH" -d '{"text":"Hello"}'
  ID=... # the _id from that response
  curl -X PATCH ${url}/pages/$ID ${json} -H "$AUTH" -d '{"text":"Hello, you"}'
  curl "${url}/changes?service=pages&recordId=$ID" -H "$AUTH"

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
