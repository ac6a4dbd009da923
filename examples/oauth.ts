// Log in with a provider, link a second one, unlink it, log out: see docs/guides/oauth.md. The
// example runs its own providers, so it needs no network.
// `npx tsx node_modules/remex/examples/oauth.ts`, after `npm install oidc-provider`, and open the
// address it prints. Reads PORT (3030), HOST (127.0.0.1) and MONGODB_URL (an embedded database by
// default).
import { randomBytes } from 'node:crypto'
import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Params } from 'remex'
import { Conflict, createApp, fastifyApp, NotFound, rest } from 'remex'
import type { OAuthParams, OAuthProfile } from 'remex/auth'
import { AuthenticationService, authenticate, JwtStrategy, OAuthStrategy, oauth } from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import { MongoDBService } from 'remex/mongodb'
import { HOME_PAGE, PAGE_HEADERS, PAGE_SCRIPT } from './oauth/page.ts'
import { startProvider } from './oauth/provider.ts'

const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const users = mongo.db('remex_oauth').collection('users')

/** The providers. Each has a field of the account, `exampleId` or `sampleId`. */
const PROVIDERS = ['example', 'sample']
const [example, sample] = await Promise.all([
  startProvider('Example', HOST),
  startProvider('Sample', HOST),
])

// One account for each person at a provider, even if someone presses the button twice.
for (const name of PROVIDERS) {
  await users.createIndex({ [`${name}Id`]: 1 }, { unique: true, sparse: true })
}

const app = fastifyApp(createApp())
app.configure(rest())

const client = { key: 'remex-example', secret: randomBytes(32).toString('base64url') }
app.set('authentication', {
  secret: randomBytes(32).toString('base64url'),
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt'],
  revocation: true,
  oauth: {
    redirect: '/',
    defaults: {
      key: client.key,
      secret: client.secret,
      scope: ['profile', 'email'],
      // The providers run on this machine, without TLS.
      allowPrivateNetwork: true,
    },
    example: { issuer: example.issuer },
    sample: { issuer: sample.issuer },
  },
})

/** Stores the name and email that a provider sends with the first login. */
class NamedStrategy extends OAuthStrategy {
  override async getEntityData(
    profile: OAuthProfile,
    existing: Document | null,
    params: OAuthParams,
  ) {
    const data = await super.getEntityData(profile, existing, params)
    if (existing !== null) return data
    return { ...data, name: profile['name'], email: this.getVerifiedEmail(profile) }
  }
}

const authentication = new AuthenticationService(app)
authentication.register('jwt', new JwtStrategy())
for (const name of PROVIDERS) authentication.register(name, new NamedStrategy())
app.use('authentication', authentication)
// External callers get no methods. A login still reads the user from this service.
app.use('users', new MongoDBService({ Model: users }), { methods: [] })
app.configure(oauth())

const getLinked = (user: Document) => PROVIDERS.filter((name) => user[`${name}Id`] !== undefined)

const toProfile = (user: Document) => ({
  name: user['name'],
  email: user['email'],
  linked: getLinked(user),
})

app.use('me', { find: async ({ user }: Params) => toProfile(user as Document) })

app.use('links', {
  /** Unlinks a provider, unless it is the last way to log in. */
  async remove(name: string, params: Params) {
    const user = params.user as Document
    if (!getLinked(user).includes(name)) throw new NotFound(`There is no link to '${name}'`)
    if (getLinked(user).length === 1) throw new Conflict('It is the only way into your account')
    const change = { $unset: { [`${name}Id`]: '' } }
    return toProfile((await app.service('users').patch(user['_id'], change)) as Document)
  },
})

for (const path of ['me', 'links']) {
  app.service(path).hooks({ before: { all: [authenticate('jwt')] } })
}

app.fastify.get('/', (_request, reply) => reply.headers(PAGE_HEADERS).send(HOME_PAGE))
app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(PAGE_SCRIPT))

await app.listen({ port: Number(PORT), host: HOST })
const address = app.server.address()
const url = `http://${HOST}:${typeof address === 'object' ? address?.port : PORT}`
example.addClient(client.key, client.secret, `${url}/oauth/example/callback`)
sample.addClient(client.key, client.secret, `${url}/oauth/sample/callback`)
console.log(`Sign in at ${url}/

The providers are at ${example.issuer} and ${sample.issuer}.
Ctrl-C ends it.`)

async function stop(): Promise<void> {
  await app.close()
  await Promise.all([example.close(), sample.close()])
  await mongo.close()
  await embedded?.close()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
