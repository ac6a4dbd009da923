// Sign-up that returns a token, so that the client need not log in. Try the lines it
// prints. `npx tsx node_modules/remex/examples/sign-up.ts`. Reads PORT (3030), HOST (127.0.0.1),
// MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
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
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { resolve, resolveData, Type } from 'remex/schema'

const Id = ObjectIdSchema()
const Email = Type.String({ format: 'email', maxLength: 254 })
const NewUser = Type.Object({ email: Email, password: Type.String({ minLength: 12 }) })
const User = Type.Object({ _id: Id, ...NewUser.properties })
type User = Static<typeof User>
const PublicUser = Type.Omit(User, ['password'])

type Services = {
  users: MongoDBListService<User>
  authentication: AuthenticationService
}

/** `Ann@example.org` and `ann@example.org` are one account, at sign-up and at login. */
const lowerEmail = resolve<{ email?: unknown }, HookContext>({
  email: (email) => (typeof email === 'string' ? email.toLowerCase() : email),
})

/** Returns the application. */
export function createAccounts(db: Db, secret: string): FastifyApplication<Services> {
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
  authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
  app.service('authentication').hooks({ before: { create: [resolveData(lowerEmail)] } })

  /** Adds an access token to the response of a sign-up. */
  const addToken = async (context: HookContext): Promise<void> => {
    if (context.params.provider === undefined) return
    const user = context.result as User
    const subject = String(user._id)
    const accessToken = await authentication.createAccessToken({}, { subject })
    context.dispatch = { accessToken, user: context.dispatch ?? user }
  }

  const users = new MongoDBService({
    Model: db.collection<User>('users'),
    hidden: ['password'],
    indexes: [{ key: { email: 1 }, unique: true }],
  })
  app.use('users', users, {
    methods: ['get', 'create'],
    schemas: {
      entity: PublicUser,
      create: NewUser,
      methods: {
        create: {
          result: Type.Object({ accessToken: Type.String(), user: PublicUser }),
        },
      },
    },
  })
  app.service('users').hooks({
    around: { get: [authenticate('jwt')] },
    before: { create: [resolveData(lowerEmail), hashPassword('password')] },
    after: { all: [protect('password')], create: [addToken] },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createAccounts(client.db('remex_sign_up'), secret)
  await app.listen({ port: Number(PORT), host: HOST })
  console.log(`Try

  curl http://${HOST}:${PORT}/users -H 'content-type: application/json' \\
    -d '{"email":"ann@example.org","password":"correct horse battery"}'

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
