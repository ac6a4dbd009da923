// Tenants with roles: a member sees the projects of one company, and only its admins change them. Try the lines it prints.
// `npx tsx node_modules/remex/examples/tenants.ts`. Reads PORT (3030), HOST (127.0.0.1), MONGODB_URL (an embedded
// database by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import type { AroundHook, FastifyApplication, HookContext, Params } from 'remex'
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
import { connectMongoDB, limitTo, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Id = ObjectIdSchema()

interface User {
  readonly _id: ObjectId
  readonly email: string
  readonly password: string
  readonly company: string
  readonly role: 'admin' | 'member'
}

const NewProject = Type.Object({ name: Type.String() })
const Project = Type.Object({ _id: Id, ...NewProject.properties, company: Type.String() })
type Project = Static<typeof Project>

type Services = {
  users: MongoDBListService<User>
  projects: MongoDBListService<Project>
  authentication: AuthenticationService
}

function userOf({ user }: Params): User {
  return user as User
}

/** External calls reach only projects of the caller's company, also in updates and live queries. */
const ownCompany = limitTo<Project>((params) => ({ company: userOf(params).company }))

/** New projects belong to the company of the caller, whatever the data says. */
function setCompany({ data, params }: HookContext): void {
  if (params.provider === undefined) return
  Object.assign(data as object, { company: userOf(params).company })
}

const onlyAdmins: AroundHook = async ({ params }, next) => {
  if (params.provider !== undefined && userOf(params).role !== 'admin') {
    throw new Forbidden('Only admins change projects')
  }
  await next()
}

/** Returns the application. The server creates users: they cannot choose a company or a role. */
export function createProjects(db: Db, secret: string): FastifyApplication<Services> {
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
  const users = new MongoDBService({ Model: db.collection<User>('users'), hidden: ['password'] })
  app.use('users', users, { methods: [] })
  app.service('users').hooks({
    before: { create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })

  const projects = new MongoDBService({
    Model: db.collection<Project>('projects'),
    indexes: [{ key: { company: 1 } }],
  })
  app.use('projects', projects, { schemas: { entity: Project, create: NewProject } })
  app.service('projects').hooks({
    around: {
      all: [authenticate('jwt')],
      create: [onlyAdmins],
      update: [onlyAdmins],
      patch: [onlyAdmins],
      remove: [onlyAdmins],
    },
    before: { all: [ownCompany], create: [setCompany], update: [setCompany] },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const { AUTH_SECRET = randomBytes(32).toString('base64') } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createProjects(client.db('remex_tenants'), AUTH_SECRET)
  await app.listen({ port: Number(PORT), host: HOST })
  const user = { email: 'ada@example.org', password: 'correct horse battery' }
  await app.service('users').create({ ...user, company: 'acme', role: 'admin' })
  const url = `http://${HOST}:${PORT}`
  console.log(`Try

  curl ${url}/authentication -H 'content-type: application/json' -d '${JSON.stringify({ strategy: 'local', ...user })}'
  curl ${url}/projects -H 'authorization: Bearer …' -H 'content-type: application/json' -d '{"name":"Tea"}'

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
