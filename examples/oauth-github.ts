// The first lines of docs/guides/oauth.md: log in with GitHub. Register an application at
// https://github.com/settings/developers with the callback URL
// http://127.0.0.1:3030/oauth/github/callback, and start this with the key and secret from GitHub:
// `GITHUB_KEY=… GITHUB_SECRET=… npx tsx node_modules/remex/examples/oauth-github.ts`. Reads
// PORT (3030), AUTH_SECRET and MONGODB_URL.
import { randomBytes } from 'node:crypto'
import type { Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import * as auth from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'

const { GITHUB_KEY = 'not-set', GITHUB_SECRET = 'not-set' } = process.env
const url = process.env['MONGODB_URL'] ?? (await startEmbeddedMongo()).url
const db = (await connectMongoDB(url)).db('remex_oauth_github')

const app = fastifyApp(createApp())
app.configure(rest())
app.set('authentication', {
  secret: process.env['AUTH_SECRET'] ?? randomBytes(32).toString('base64'),
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt'],
  oauth: { github: { key: GITHUB_KEY, secret: GITHUB_SECRET } },
})
const authentication = new auth.AuthenticationService(app)
authentication.register('jwt', new auth.JwtStrategy())
authentication.register('github', new auth.OAuthStrategy())
app.use('authentication', authentication)
app.configure(auth.oauth())

// One account for each person at GitHub. A login needs no external methods.
const indexes = [{ key: { githubId: 1 }, unique: true, sparse: true }]
const users = new MongoDBService({ Model: db.collection('users'), indexes })
app.use('users', users, { methods: [] })

app.use('me', { find: async ({ user }: Params) => user })
app.service('me').hooks({ before: { all: [auth.authenticate('jwt')] } })

await app.listen(Number(process.env['PORT'] ?? 3030))
