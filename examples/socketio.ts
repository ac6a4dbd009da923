// The first lines of docs/reference/socketio.md: a chat with logins, for Feathers clients over Socket.IO.
// `npx tsx node_modules/remex/examples/socketio.ts`, after `npm install socket.io`. Reads PORT (3030), HOST
// (127.0.0.1), AUTH_SECRET and MONGODB_URL. examples/socketio-client.ts shows a client.
import { randomBytes } from 'node:crypto'
import type { HookContext } from 'remex'
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
import type { Connection } from 'remex/socketio'
import { socketio } from 'remex/socketio'

// Your MongoDB, or one inside this process that keeps no data.
const url = process.env['MONGODB_URL'] ?? (await startEmbeddedMongo()).url
const db = (await connectMongoDB(url)).db('remex_chat')

const app = fastifyApp(createApp())
app.configure(rest())
app.configure(socketio({ cors: { origin: 'http://localhost:5173' } }))
app.set('authentication', {
  secret: process.env['AUTH_SECRET'] ?? randomBytes(32).toString('base64'),
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt', 'local'],
  local: { usernameField: 'email', passwordField: 'password' },
})

const authentication = new AuthenticationService(app)
authentication.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
app.use('authentication', authentication)

const users = { Model: db.collection('users'), indexes: [{ key: { email: 1 }, unique: true }] }
app.use('users', new MongoDBService(users), { methods: ['create'] })
app.service('users').hooks({
  before: { create: [hashPassword('password')] },
  after: { all: [protect('password')] },
})

app.use('messages', new MongoDBService({ Model: db.collection('messages') }), {
  methods: ['find', 'create'],
})
app.service('messages').hooks({ before: { all: [authenticate('jwt')], create: [addAuthor] } })

function addAuthor(context: HookContext): void {
  const { text } = context.data as { text?: unknown }
  const { email } = context.params.user as { email: string }
  context.data = { text: String(text), author: email }
}

// Events of messages go to everyone who is logged in.
app.on('login', (_result: unknown, { connection }: { connection?: Connection }) => {
  app.channel('members').join(connection)
})
app.service('messages').publish(() => app.channel('members'))

const { PORT = '3030', HOST = '127.0.0.1' } = process.env
await app.listen({ port: Number(PORT), host: HOST })
