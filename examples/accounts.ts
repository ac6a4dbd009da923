// Accounts: registration, login, a service for members, logout. Try the lines it prints.
// `npx tsx node_modules/remex/examples/accounts.ts`. Reads PORT (3030), HOST (127.0.0.1),
// MONGODB_URL (an embedded database when it is not set) and AUTH_SECRET (a new secret for each
// start when it is not set).
import { randomBytes } from 'node:crypto'
import type { ObjectId } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { HookContext } from 'remex'
import { authenticateRequest, createApp, fastifyApp, NotFound, openapi, rest } from 'remex'
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
import { MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Id = Type.Unsafe<ObjectId>(ObjectIdSchema())
const Email = Type.String({ format: 'email', maxLength: 254 })

/** What callers send to sign up: whatever else they would like to be, `role` for example, is refused. */
const NewUser = Type.Object({ email: Email, password: Type.String({ minLength: 12 }) })
type User = Static<typeof NewUser>

/** What callers see of a user. */
const PublicUser = Type.Object({ _id: Id, email: Email })

const NewNote = Type.Object({ text: Type.String() })
const Note = Type.Object({
  _id: Id,
  text: Type.String(),
  author: Type.String({ description: 'The e-mail address of who wrote it' }),
})
type Note = Static<typeof NewNote> & Pick<Static<typeof Note>, 'author'>

type Services = {
  users: MongoDBListService<User>
  notes: MongoDBService<Note>
  authentication: AuthenticationService
}

const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const db = mongo.db('remex_accounts')
await db.collection('users').createIndex({ email: 1 }, { unique: true })

const app = fastifyApp(createApp<Services>())
// A browser that follows a link sends no header: notes may be opened by /notes?access_token=...
app.configure(rest({ authentication: { queryToken: true } }))
app.set('authentication', {
  secret: AUTH_SECRET ?? randomBytes(32).toString('base64url'),
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt', 'local'],
  jwtOptions: { audience: 'https://notes.example', issuer: 'notes', expiresIn: '1h' },
  local: { usernameField: 'email', passwordField: 'password' },
  revocation: true,
})

const authentication = new AuthenticationService(app)
authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
// Hidden from queries by the service, and from results by `protect` below: the hash stays in the house.
app.use(
  'users',
  new MongoDBService({ Model: db.collection<User>('users'), hidden: ['password'] }),
  { methods: ['get', 'create'], schemas: { entity: PublicUser, create: NewUser } },
)
app.use(
  'notes',
  new MongoDBService({
    Model: db.collection<Note>('notes'),
    paginate: { default: 10, max: 100 },
  }),
  { methods: ['find', 'create'], schemas: { entity: Note, create: NewNote } },
)
app.use('authentication', authentication)

app.service('users').hooks({
  before: {
    get: [authenticate('jwt'), checkOwner],
    create: [lowerEmail, hashPassword('password')],
  },
  after: { all: [protect('password')] },
})
app.service('authentication').hooks({ before: { create: [lowerEmail] } })
app.service('notes').hooks({
  before: { all: [authenticate('jwt')], find: [onlyOwn], create: [signNote] },
})

app.configure(openapi({ info: { title: 'Accounts', version: '1.0.0' }, path: '/docs' }))

app.fastify.get('/me', { preHandler: authenticateRequest(app, 'jwt') }, async (request) => {
  const { email } = request.feathers['user'] as User
  return { email }
})

/** `Ada@example.org` and `ada@example.org` are one account. */
function lowerEmail(context: HookContext): void {
  const data = (context.data ?? {}) as Record<string, unknown>
  if (typeof data['email'] === 'string')
    context.data = { ...data, email: data['email'].toLowerCase() }
}

/** Members see themselves only; others are told that there is nobody. */
function checkOwner({ id, params }: { id?: unknown; params: HookContext['params'] }): void {
  const { _id } = (params.user ?? {}) as { _id?: unknown }
  if (params.provider === undefined || String(id) === String(_id)) return
  throw new NotFound(`No record found for id '${id}'`)
}

/** Members read what they have written, whatever else they ask for. */
function onlyOwn(context: HookContext): void {
  const { email: author } = context.params.user as User
  context.params.query = { ...context.params.query, author }
}

function signNote(context: HookContext): void {
  const { email: author } = context.params.user as User
  context.data = { ...(context.data as Static<typeof NewNote>), author }
}

await app.listen({ port: Number(PORT), host: HOST })
const url = `http://${HOST}:${PORT}`
const json = "-H 'content-type: application/json'"
const account = '"email":"ada@example.org","password":"correct horse battery"'
console.log(`Accounts and notes at ${url}, the API at ${url}/docs

  curl ${url}/users ${json} -d '{${account}}'
  curl ${url}/authentication ${json} -d '{"strategy":"local",${account}}'
  TOKEN=... # the accessToken of that answer
  curl ${url}/notes ${json} -H "authorization: Bearer $TOKEN" -d '{"text":"Hello"}'
  curl ${url}/notes -H "authorization: Bearer $TOKEN"
  curl ${url}/me -H "authorization: Bearer $TOKEN"
  curl "${url}/notes?access_token=$TOKEN"
  curl -X DELETE ${url}/authentication -H "authorization: Bearer $TOKEN"
  curl ${url}/notes -H "authorization: Bearer $TOKEN" # 401: the token was revoked

Ctrl-C ends it.`)

async function stop(): Promise<void> {
  await app.close()
  await mongo.close()
  await embedded?.close()
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())
