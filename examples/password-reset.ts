// A forgotten password: a mail with a link, a new password by its token, and old logins end. Mails are
// printed. Try the lines it prints. `npx tsx node_modules/remex/examples/password-reset.ts`. Reads
// PORT (3030), HOST (127.0.0.1), MONGODB_URL (an embedded database when it is not set) and
// AUTH_SECRET (a new one for each start).
import { createHash, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Collection, Db, ObjectId } from 'mongodb'
import type { Application, FastifyApplication, Hook, HookContext, Params } from 'remex'
import { BadRequest, createApp, fastifyApp, NotAuthenticated, rest } from 'remex'
import type { AuthenticationParams, AuthenticationRequest } from 'remex/auth'
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

const LIFETIME_MS = 30 * 60_000

const Email = Type.String({ format: 'email', maxLength: 254 })
const Password = Type.String({ minLength: 12, maxLength: 1_000 })
const NewUser = Type.Object({ email: Email, password: Password })
const PublicUser = Type.Object({ _id: Type.Unsafe<ObjectId>(ObjectIdSchema()), email: Email })
type User = Static<typeof PublicUser> & Static<typeof NewUser> & { passwordChangedAt: Date }

/** What is stored of a link: only the hash of its token, so that a copy of the database opens nothing. */
interface Reset {
  _id: string
  userId: ObjectId
  expiresAt: Date
}

type SendMail = (email: string, token: string) => Promise<void>

type Services = {
  users: MongoDBListService<User>
  authentication: AuthenticationService
  'password-resets': PasswordResetService
}

class PasswordResetService {
  readonly #app: Application<Services>
  readonly #resets: Collection<Reset>
  readonly #sendMail: SendMail

  constructor(app: Application<Services>, db: Db, sendMail: SendMail) {
    this.#app = app
    this.#resets = db.collection('passwordResets')
    this.#sendMail = sendMail
  }

  async setup(): Promise<void> {
    await this.#resets.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })
  }

  /** Sends a link, and does not wait for it: an unknown address gets the same answer in the same time. */
  async create({ email }: { email: string }): Promise<object> {
    this.#sendLink(email).catch((error) => this.#app.logger.error(error))
    return {}
  }

  /** Sets a new password. Each link works once. */
  async redeem({ token, password }: { token: string; password: string }, params: Params) {
    const unexpired = { _id: hash(token), expiresAt: { $gt: new Date() } }
    const reset = await this.#resets.findOneAndDelete(unexpired)
    if (reset === null) throw new BadRequest('The link is not valid any more: ask for a new one')
    const { address, signal } = params
    await this.#app.service('users').patch(reset.userId, { password }, { address, signal })
    await this.#resets.deleteMany({ userId: reset.userId })
    return {}
  }

  async #sendLink(email: string): Promise<void> {
    const query = { email: email.toLowerCase(), $limit: 1 }
    const [user] = await this.#app.service('users').find({ query })
    if (user === undefined) return
    const token = randomBytes(32).toString('base64url')
    const expiresAt = new Date(Date.now() + LIFETIME_MS)
    await this.#resets.insertOne({ _id: hash(token), userId: user._id, expiresAt })
    await this.#sendMail(user.email, token)
  }
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

/** Refuses tokens that are older than the last change of the password. */
class RecentJwtStrategy extends JwtStrategy {
  override async authenticate(request: AuthenticationRequest, params: AuthenticationParams) {
    const result = await super.authenticate(request, params)
    const { passwordChangedAt } = result['user'] as User
    const { payload } = result.authentication as unknown as { payload: { iat: number } }
    // `iat` has whole seconds: a token of the same second counts as new.
    if (payload.iat >= Math.floor(passwordChangedAt.getTime() / 1_000)) return result
    throw new NotAuthenticated('The password has changed: log in again')
  }
}

/** Users change nothing but their password here. */
const noteChange: Hook<Services['users'], 'create' | 'patch'> = (context) => {
  context.data = Object.assign({}, context.data, { passwordChangedAt: new Date() })
}

/** `Ann@example.org` and `ann@example.org` are one account, at sign-up and at login. */
const lowerEmail = resolve<{ email?: unknown }, HookContext>({
  email: (email) => (typeof email === 'string' ? email.toLowerCase() : email),
})

/** Returns the application. */
export function createAccounts(
  db: Db,
  secret: string,
  sendMail: SendMail,
): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest({ methodPaths: true }))
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: { usernameField: 'email', passwordField: 'password' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new RecentJwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', authentication)
  app.service('authentication').hooks({ before: { create: [resolveData(lowerEmail)] } })

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
    before: {
      create: [resolveData(lowerEmail), noteChange, hashPassword('password')],
      patch: [noteChange, hashPassword('password')],
    },
    after: { all: [protect('password')] },
  })

  app.use('password-resets', new PasswordResetService(app, db, sendMail), {
    methods: ['create', 'redeem'],
    schemas: {
      create: Type.Object({ email: Email }),
      methods: {
        redeem: { data: Type.Object({ token: Type.String(), password: Password }) },
      },
    },
  })
  return app
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createAccounts(client.db('remex_reset'), secret, async (email, token) =>
    console.log(`Mail to ${email}: https://app.example/reset#token=${token}`),
  )
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url}/users ${json} -d '{"email":"ann@example.org","password":"correct horse battery"}'
  curl ${url}/password-resets ${json} -d '{"email":"ann@example.org"}'
  TOKEN=... # of the mail that is printed here
  curl ${url}/password-resets/redeem ${json} -d "{\\"token\\":\\"$TOKEN\\",\\"password\\":\\"another horse battery\\"}"

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
