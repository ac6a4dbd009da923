// Sign in with GitHub. Register an application at https://github.com/settings/developers with the
// callback URL http://127.0.0.1:3030/oauth/github/callback, and start this with what GitHub gives
// you: `GITHUB_KEY=… GITHUB_SECRET=… npx tsx node_modules/remex/examples/oauth-github.ts`. Reads
// PORT (3030), HOST (127.0.0.1), MONGODB_URL (an embedded database when it is not set) and
// AUTH_SECRET.
import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'
import type { Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { AuthenticationService, authenticate, JwtStrategy, OAuthStrategy, oauth } from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import { MongoDBService } from 'remex/mongodb'

const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
const { GITHUB_KEY = 'not-set', GITHUB_SECRET = 'not-set' } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const users = mongo.db('remex_oauth_github').collection('users')
const secret = AUTH_SECRET ?? randomBytes(32).toString('base64url')

const app = fastifyApp(createApp())
app.configure(rest())

app.set('authentication', {
  secret,
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt'],
  oauth: { github: { key: GITHUB_KEY, secret: GITHUB_SECRET } },
})
const authentication = new AuthenticationService(app)
authentication.register('jwt', new JwtStrategy()).register('github', new OAuthStrategy())
app.use('authentication', authentication)
app.use('users', new MongoDBService({ Model: users }), { methods: [] })
app.configure(oauth())
await users.createIndex({ githubId: 1 }, { unique: true, sparse: true })

app.use('me', { find: async ({ user }: Params) => user })
app.service('me').hooks({ before: { all: [authenticate('jwt')] } })

await app.listen({ port: Number(PORT), host: HOST })
const address = app.server.address()
const url = `http://${HOST}:${typeof address === 'object' ? address?.port : PORT}`
console.log(`Open ${url}/oauth/github, and send the token to /me

  curl ${url}/me -H "authorization: Bearer $TOKEN"

Ctrl-C ends it.`)
if (GITHUB_KEY === 'not-set') console.log('GitHub will refuse it: GITHUB_KEY is not set.')

async function stop(): Promise<void> {
  await app.close()
  await mongo.close()
  await embedded?.close()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
