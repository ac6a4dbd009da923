// The first lines of docs/guides/oauth.md: sign in with GitHub. Register an application at
// https://github.com/settings/developers with the callback URL
// http://127.0.0.1:3030/oauth/github/callback, and start this with what GitHub gives you:
// `GITHUB_KEY=… GITHUB_SECRET=… npx tsx node_modules/remex/examples/oauth-github.ts`. Reads
// PORT (3030), AUTH_SECRET and MONGODB_URL.
import { randomBytes } from 'node:crypto'
import type { Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { AuthenticationService, authenticate, JwtStrategy, OAuthStrategy, oauth } from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'

const { AUTH_SECRET, GITHUB_KEY = 'not-set', GITHUB_SECRET = 'not-set' } = process.env
const url = process.env['MONGODB_URL'] ?? (await startEmbeddedMongo()).url
const db = (await connectMongoDB(url)).db('remex_oauth_github')

const app = fastifyApp(createApp())
app.configure(rest())
app.set('authentication', {
  secret: AUTH_SECRET ?? randomBytes(32).toString('base64'),
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt'],
  oauth: { github: { key: GITHUB_KEY, secret: GITHUB_SECRET } },
})
const authentication = new AuthenticationService(app)
authentication.register('jwt', new JwtStrategy()).register('github', new OAuthStrategy())
app.use('authentication', authentication)
app.configure(oauth())

// One account for each person at GitHub. A login needs no methods for callers outside.
const indexes = [{ key: { githubId: 1 }, unique: true, sparse: true }]
app.use('users', new MongoDBService({ Model: db.collection('users'), indexes }), { methods: [] })

app.use('me', { find: async ({ user }: Params) => user })
app.service('me').hooks({ before: { all: [authenticate('jwt')] } })

await app.listen(Number(process.env['PORT'] ?? 3030))
