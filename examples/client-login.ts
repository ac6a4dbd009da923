// A client that logs in, and its server, explained in docs/reference/client-login.md.
// `npx tsx node_modules/remex/examples/client-login.ts`. Ends by itself. Reads MONGODB_URL
// (an embedded database by default), and writes only to `remex_client_login`.
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { MongoClient } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { AuthenticationClient, authentication, createClient, MemoryStorage } from 'remex/client'
import { startEmbeddedMongo } from 'remex/embedded'
import { NotAuthenticated } from 'remex/errors'
import type { MongoDBListService } from 'remex/mongodb'
import { MongoDBService } from 'remex/mongodb'

const { MONGODB_URL } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const db = mongo.db('remex_client_login')
await db.dropDatabase()

interface User {
  email: string
  password: string
}

const notes = {
  records: [] as { text: string }[],
  async find() {
    return this.records
  },
  async create(note: { text: string }) {
    this.records.push(note)
    return note
  },
}

interface Services {
  users: MongoDBListService<User>
  notes: typeof notes
  authentication: AuthenticationService
}

const app = fastifyApp(createApp<Services>())
app.configure(rest())
app.set('authentication', {
  secret: randomBytes(32).toString('base64url'),
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt', 'local'],
  local: { usernameField: 'email', passwordField: 'password' },
  revocation: true,
})
const logins = new AuthenticationService(app)
logins.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
app.use('authentication', logins)
// External callers get no methods. A login still reads the user from this service.
app.use('users', new MongoDBService({ Model: db.collection<User>('users') }), { methods: [] })
app.use('notes', notes)
app.service('users').hooks({
  before: { create: [hashPassword('password')] },
  after: { all: [protect('password')] },
})
app.service('notes').hooks({ before: { all: [authenticate('jwt')] } })
const server = await app.listen({ port: 0, host: '127.0.0.1' })
const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const account = { email: 'ann@example.org', password: 'correct horse battery' }
await app.service('users').create(account)

// The client. In a page, its storage is `window.localStorage`.

const storage = new MemoryStorage()

const client = createClient<Services>({ baseURL })
client.configure(authentication({ storage }))

client.on('logout', () => console.log('logged out'))

try {
  await client.service('notes').find()
} catch (error) {
  if (!(error instanceof NotAuthenticated)) throw error
  console.log('before the login:', error.message)
}

const { user } = await client.authenticate({ strategy: 'local', ...account })
console.log('logged in:', user)
await client.service('notes').create({ text: 'Of tea' })

// The page opens again: the token is in the storage.

const later = createClient<Services>({ baseURL })
later.configure(authentication({ storage }))

try {
  await later.reAuthenticate()
  console.log('still logged in')
} catch (error) {
  if (!(error instanceof NotAuthenticated)) throw error
  console.log('ask for the password')
}
console.log('notes:', (await later.service('notes').find()).length)

// A program that knows its password.

class ProgramLogin extends AuthenticationClient {
  override reAuthenticate() {
    return this.authenticate({ strategy: 'local', ...account })
  }
}

const program = createClient<Services>({ baseURL })
program.configure(authentication({ Authentication: ProgramLogin }))
await program.reAuthenticate()
await program.logout()

await client.logout()
await later.reAuthenticate(true).catch((error) => console.log('the token is gone:', error.message))

await app.close()
await mongo.close()
await embedded?.close()
