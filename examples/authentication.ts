// The first lines of docs/reference/authentication.md: users who sign up, log in, and write notes.
// `npx tsx node_modules/remex/examples/authentication.ts`. Reads PORT (3030), AUTH_SECRET and
// MONGODB_URL.
import { randomBytes } from 'node:crypto'
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
import { connectMongoDB, MongoDBService } from 'remex/mongodb'

// Your MongoDB, or one inside this process that keeps no data.
const url = process.env['MONGODB_URL'] ?? (await startEmbeddedMongo()).url
const db = (await connectMongoDB(url)).db('remex_logins')

const app = fastifyApp(createApp())
app.configure(rest())
app.set('authentication', {
  // At least 32 bytes: `openssl rand -base64 32`. With a random one,
  // each restart ends all logins.
  secret: process.env['AUTH_SECRET'] ?? randomBytes(32).toString('base64'),
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt', 'local'],
  local: { usernameField: 'email', passwordField: 'password' },
})

const authentication = new AuthenticationService(app)
authentication.register('jwt', new JwtStrategy())
authentication.register('local', new LocalStrategy())
app.use('authentication', authentication)

const users = new MongoDBService({
  Model: db.collection('users'),
  hidden: ['password'],
  indexes: [{ key: { email: 1 }, unique: true }],
})
app.use('users', users, { methods: ['create'] })
app.service('users').hooks({
  before: { create: [hashPassword('password')] },
  after: { all: [protect('password')] },
})

app.use('notes', new MongoDBService({ Model: db.collection('notes') }), {
  methods: ['find', 'create'],
})
app.service('notes').hooks({ before: { all: [authenticate('jwt')] } })

await app.listen(Number(process.env['PORT'] ?? 3030))
