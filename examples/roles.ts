// Roles: writers change their own pages, editors all pages, and users cannot choose their role. Try
// the lines it prints. `npx tsx node_modules/remex/examples/roles.ts`. Reads PORT (3030), HOST
// (127.0.0.1), MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at
// each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { AroundHook, FastifyApplication, Hook, Params } from 'remex'
import { createApp, Forbidden, fastifyApp, rest } from 'remex'
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
import { connectMongoDB, createdBy, limitTo, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Id = ObjectIdSchema()
const Role = Type.Union([Type.Literal('writer'), Type.Literal('editor')])

/** What callers send to sign up. `role` is rejected, because it is not a field. */
const NewUser = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  password: Type.String({ minLength: 12 }),
})
const User = Type.Object({ _id: Id, ...NewUser.properties, role: Role })
type User = Static<typeof User>

const NewPage = Type.Object({ text: Type.String() })
const Page = Type.Object({ _id: Id, ...NewPage.properties, ownerId: Id })
type Page = Static<typeof Page>

type Services = {
  users: MongoDBListService<User>
  pages: MongoDBListService<Page>
  authentication: AuthenticationService
}

/** Lets users with one of these roles pass. Goes after `authenticate`. */
function requireRole(...roles: User['role'][]): AroundHook {
  return async ({ params }, next) => {
    if (params.provider !== undefined && !roles.includes(userOf(params).role)) {
      throw new Forbidden('Not allowed for your role')
    }
    await next()
  }
}

/** Editors may write all pages, other users only their own. */
const onlyOwn = limitTo<Page>((params) => {
  const { _id, role } = userOf(params)
  return role === 'editor' ? {} : { ownerId: _id }
})

const addRole: Hook<Services['users'], 'create'> = (context) => {
  context.data = { role: 'writer', ...context.data }
}

function userOf({ user }: Params): User {
  return user as User
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
    methods: ['find', 'create'],
    schemas: { entity: Type.Omit(User, ['password']), create: NewUser },
  })
  app.service('users').hooks({
    around: { find: [authenticate('jwt'), requireRole('editor')] },
    before: { create: [addRole, hashPassword('password')] },
    after: { all: [protect('password')] },
  })

  app.use('pages', new MongoDBService({ Model: db.collection<Page>('pages') }), {
    methods: ['find', 'create', 'patch', 'remove'],
    schemas: { entity: Page, create: NewPage },
  })
  app.service('pages').hooks({
    around: { all: [authenticate('jwt')], remove: [requireRole('editor')] },
    before: { all: [createdBy({ field: 'ownerId' })], patch: [onlyOwn] },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createPages(client.db('remex_roles'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url}/users ${json} -d '{"name":"Ann","password":"correct horse battery"}'
  curl ${url}/authentication ${json} -d '{"strategy":"local","name":"Ann","password":"correct horse battery"}'
  AUTH="authorization: Bearer ..." # the accessToken from that response
  curl ${url}/pages ${json} -H "$AUTH" -d '{"text":"Hello"}'
  curl ${url}/users -H "$AUTH" # 403

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
