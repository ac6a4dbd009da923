// Accounts: sign-up, email verification, sessions, password reset and change, and notes for members.
// Prints its emails. Try the lines it prints. `npx tsx node_modules/remex/examples/accounts.ts`, after
// `npm install mongodb @fastify/swagger @fastify/swagger-ui yaml`.
// Reads PORT (3030), HOST (127.0.0.1), MONGODB_URL (an embedded database by default) and AUTH_SECRET (a new
// one at each start by default).
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import type { FastifyApplication, HookContext } from 'remex'
import { authenticateRequest, createApp, fastifyApp, NotFound, openapi, rest } from 'remex'
import type { AccountNotice, AuthenticationParams, ServedSessions, SessionRecord } from 'remex/auth'
import {
  AccountService,
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
const Password = Type.String({ minLength: 12, maxLength: 1_000 })

/** What callers send to sign up. Other fields, such as `isVerified`, are rejected. */
const NewUser = Type.Object({ email: Email, password: Password })
type User = Static<typeof NewUser> & { isVerified?: boolean }

/** What callers see of a user. */
const PublicUser = Type.Object({ _id: Id, email: Email })

/** What callers send to the methods of accounts. */
const accountData = {
  requestVerification: { data: Type.Object({ email: Email }) },
  verifyEmail: { data: Type.Object({ token: Type.String() }) },
  requestReset: { data: Type.Object({ email: Email }) },
  resetPassword: {
    data: Type.Object({ token: Type.String(), password: Password }),
  },
  changePassword: {
    data: Type.Object({ password: Type.String(), newPassword: Password }),
  },
  changeEmail: { data: Type.Object({ password: Type.String(), email: Email }) },
}

const NewNote = Type.Object({ text: Type.String() })
const Note = Type.Object({
  _id: Id,
  text: Type.String(),
  author: Type.String({ description: 'The email of the author' }),
})
type Note = Static<typeof NewNote> & Pick<Static<typeof Note>, 'author'>

type Services = {
  users: MongoDBListService<User>
  accounts: AccountService
  sessions: ServedSessions<MongoDBService<SessionRecord>>
  notes: MongoDBService<Note>
  authentication: AuthenticationService
}

/** Logs in users whose address is verified. */
class VerifiedStrategy extends LocalStrategy {
  override getEntityQuery(query: object, params: AuthenticationParams) {
    return super.getEntityQuery({ ...query, isVerified: true }, params)
  }
}

/** Returns the application. */
export function createAccounts(
  db: Db,
  secret: string,
  notify: (notice: AccountNotice) => unknown,
): FastifyApplication<Services> {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  // A browser that follows a link sends no header, so /notes?access_token=... works, too.
  app.configure(rest({ authentication: { queryToken: true }, methodPaths: true }))
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    jwtOptions: { audience: 'https://notes.example', issuer: 'notes' },
    local: { usernameField: 'email', passwordField: 'password' },
    sessions: { service: 'sessions', checkSession: 'always' },
  })
  const authentication = new AuthenticationService(app)
  authentication.register('jwt', new JwtStrategy()).register('local', new VerifiedStrategy())
  app.use('authentication', authentication)
  app.use(
    'sessions',
    new MongoDBService({
      Model: db.collection<SessionRecord>('sessions'),
      paginate: { default: 20 },
    }),
  )

  // Hides the hash from queries; `protect` below hides it from results.
  const users = new MongoDBService({
    Model: db.collection<User>('users'),
    hidden: ['password'],
    indexes: [{ key: { email: 1 }, unique: true }],
  })
  app.use('users', users, {
    methods: ['get', 'create'],
    schemas: { entity: PublicUser, create: NewUser },
  })
  const tokens = db.collection('accountTokens')
  app.use('accounts', new AccountService(app, { notify, tokens }), {
    methods: [
      'requestVerification',
      'verifyEmail',
      'requestReset',
      'resetPassword',
      'changePassword',
      'changeEmail',
    ],
    schemas: { methods: accountData },
  })
  const notes = new MongoDBService({
    Model: db.collection<Note>('notes'),
    paginate: { default: 10, max: 100 },
  })
  app.use('notes', notes, {
    methods: ['find', 'create'],
    schemas: { entity: Note, create: NewNote },
  })

  /** Sends the email that verifies an address. */
  const verify = async (context: HookContext): Promise<void> => {
    const { email } = context.result as User
    await app.service('accounts').requestVerification({ email })
  }

  app.service('users').hooks({
    before: {
      get: [authenticate('jwt'), checkOwner],
      create: [lowerEmail, hashPassword('password')],
      patch: [hashPassword('password')],
    },
    after: { all: [protect('password')], create: [verify] },
  })
  app.service('authentication').hooks({ before: { create: [lowerEmail] } })
  app.service('accounts').hooks({ before: { all: [lowerEmail] } })
  app.service('notes').hooks({
    before: { all: [authenticate('jwt')], find: [onlyOwn], create: [signNote] },
  })

  app.configure(openapi({ info: { title: 'Accounts', version: '1.0.0' }, path: '/docs' }))

  const preHandler = authenticateRequest(app, 'jwt')
  app.fastify.get('/me', { preHandler }, async (request) => {
    const { email } = request.feathers['user'] as User
    return { email }
  })
  return app
}

/** `Ada@example.org` and `ada@example.org` are one account. */
function lowerEmail(context: HookContext): void {
  const data = (context.data ?? {}) as Record<string, unknown>
  if (typeof data['email'] === 'string')
    context.data = { ...data, email: data['email'].toLowerCase() }
}

/** Members see only themselves; other users return 404. */
function checkOwner({ id, params }: { id?: unknown; params: HookContext['params'] }): void {
  const { _id } = (params.user ?? {}) as { _id?: unknown }
  if (params.provider === undefined || String(id) === String(_id)) return
  throw new NotFound(`No record found for id '${id}'`)
}

/** Limits members to their own notes, whatever they query. */
function onlyOwn(context: HookContext): void {
  const { email: author } = context.params.user as User
  context.params.query = { ...context.params.query, author }
}

function signNote(context: HookContext): void {
  const { email: author } = context.params.user as User
  context.data = { ...(context.data as Static<typeof NewNote>), author }
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await connectMongoDB(MONGODB_URL ?? embedded?.url ?? '')
  const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')
  const app = createAccounts(mongo.db('remex_accounts'), secret, ({ kind, email, token }) =>
    console.log(
      `Mail to ${email}: ${kind}${token ? ` https://notes.example/${kind}#${token}` : ''}`,
    ),
  )
  await app.listen({ port: Number(PORT), host: HOST })
  const url = `http://${HOST}:${PORT}`
  const json = "-H 'content-type: application/json'"
  const account = '"email":"ada@example.org","password":"correct horse battery"'
  console.log(`Accounts and notes at ${url}, the API at ${url}/docs

  curl ${url}/users ${json} -d '{${account}}'
  TOKEN=... # the text after # in the email that is printed here
  curl ${url}/accounts/verifyEmail ${json} -d "{\\"token\\":\\"$TOKEN\\"}"
  curl ${url}/authentication ${json} -d '{"strategy":"local",${account}}'
  ACCESS=... # the accessToken from that response
  curl ${url}/notes ${json} -H "authorization: Bearer $ACCESS" -d '{"text":"Hello"}'
  curl ${url}/notes -H "authorization: Bearer $ACCESS"
  curl ${url}/me -H "authorization: Bearer $ACCESS"
  curl "${url}/notes?access_token=$ACCESS"
  curl ${url}/accounts/requestReset ${json} -d '{"email":"ada@example.org"}'
  TOKEN=... # from the next email
  curl ${url}/accounts/resetPassword ${json} -d "{\\"token\\":\\"$TOKEN\\",\\"password\\":\\"another horse battery\\"}"
  curl ${url}/notes -H "authorization: Bearer $ACCESS" # 401: the session has ended

Ctrl-C ends it.`)

  async function stop(): Promise<void> {
    await app.close()
    await mongo.close()
    await embedded?.close()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())
}

// Does not start when a test imports this file.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
