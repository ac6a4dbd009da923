// Settings and subclasses for logins with providers, explained in docs/guides/oauth.md and
// docs/reference/oauth.md. Checks the settings, starts, and ends by itself. It calls no provider, and
// writes only to `remex_oauth_accounts`. Reads MONGODB_URL (an embedded database by default). `npx tsx node_modules/remex/examples/oauth-accounts.ts`.
import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import type { OAuthParams, OAuthProfile } from 'remex/auth'
import { AuthenticationService, JwtStrategy, OAuthStrategy, oauth } from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import { MongoDBService } from 'remex/mongodb'

const { MONGODB_URL } = process.env
const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const db = mongo.db('remex_oauth_accounts')
await db.dropDatabase()
const users = db.collection('users')

// One account for each email, and one for each person at a provider.
await users.createIndex({ email: 1 }, { unique: true, sparse: true })
await users.createIndex({ googleId: 1 }, { unique: true, sparse: true })
await users.createIndex({ keycloakId: 1 }, { unique: true, sparse: true })

const app = fastifyApp(createApp(), { trustProxy: '10.0.0.1' })
app.configure(rest())

const key = 'remex-example'
const secret = randomBytes(32).toString('base64url')

app.set('authentication', {
  secret: randomBytes(32).toString('base64url'),
  entity: 'user',
  service: 'users',
  authStrategies: ['jwt', 'google', 'keycloak'],
  oauth: {
    origins: ['https://app.example'],
    defaults: { origin: 'https://api.example', response: 'code' },
    google: {
      key,
      secret,
      dynamic: ['login_hint', 'prompt'],
      overrides: { work: { custom_params: { hd: '*' } } },
    },
    keycloak: {
      key,
      secret,
      issuer: 'https://login.internal/realms/staff',
      allowPrivateNetwork: true,
    },
  },
})

/** Google owns these addresses. Others may have changed hands since Google checked them. */
function isOfGoogle(profile: OAuthProfile, email: string): boolean {
  return email.endsWith('@gmail.com') || typeof profile['hd'] === 'string'
}

class GoogleStrategy extends OAuthStrategy {
  override async findEntity(profile: OAuthProfile, params: OAuthParams) {
    const known = await super.findEntity(profile, params)
    const email = this.getVerifiedEmail(profile)?.toLowerCase()
    if (known !== null || email === undefined || !isOfGoogle(profile, email)) return known
    // An attacker who signed up with another person's address waits here for its owner.
    return users.findOne({ email, emailVerified: true })
  }

  override async getEntityData(
    profile: OAuthProfile,
    existing: Record<string, unknown> | null,
    params: OAuthParams,
  ) {
    const data = await super.getEntityData(profile, existing, params)
    const email = this.getVerifiedEmail(profile)?.toLowerCase()
    if (existing !== null || email === undefined) return data
    return { ...data, email, emailVerified: true }
  }
}

const authentication = new AuthenticationService(app)
authentication.register('jwt', new JwtStrategy())
authentication.register('google', new GoogleStrategy())
authentication.register('keycloak', new OAuthStrategy())
app.use('authentication', authentication)
app.use('users', new MongoDBService({ Model: users }), { methods: [] })
app.configure(oauth())

await app.listen({ port: 0, host: '127.0.0.1' })
console.log('The settings are valid, and both providers have a strategy.')
await app.close()
await mongo.close()
await embedded?.close()
