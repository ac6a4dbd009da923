import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import {
  AuthenticationService,
  JwtStrategy,
  OAuthStrategy,
  oauth,
} from '../../../src/auth/index.ts'
import type { MemoryRevocationList } from '../../../src/auth/tokens/token-revocation.ts'
import { createApp } from '../../../src/core/index.ts'
import { createLoginApp, SECRET, UserService } from '../login-app.ts'

const GITHUB = { key: 'id', secret: 'secret', overrides: { admin: { scope: 'admin' } } }

async function start(section: object = GITHUB, others: object = {}) {
  const github = new OAuthStrategy()
  const { app, log, authentication } = createLoginApp({
    settings: { oauth: { github: section }, ...others },
    strategies: { local: undefined, github },
  })
  app.configure(oauth())
  await app.setup()
  return { app, log, authentication, access: github.providerAccess }
}

t.test('makes one provider of the settings, and one of each override', async (t) => {
  const { access } = await start()
  t.equal(access.getProvider(), access.getProvider())
  t.equal(access.getProvider('admin'), access.getProvider('admin'))
  t.not(access.getProvider(), access.getProvider('admin'))
  t.match(access.getProvider('admin').settings, { key: 'id', scope: 'admin' })
})

t.test('makes no provider for a name that callers think of', async (t) => {
  const { access } = await start()
  for (const name of ['', 'x', 'constructor', '__proto__', 'toString', 'github', 'admin ']) {
    t.throws(() => access.getProvider(name), { code: 404 }, name)
  }
})

t.test('no login makes a list in memory forget a logout (OAU-1)', async (t) => {
  const { access, authentication } = await start(GITHUB, { revocation: true })
  const list = authentication.revocationList as MemoryRevocationList
  const exp = Date.parse('2100-01-01') / 1000
  t.strictSame([await access.claimHere('a', exp), await access.claimHere('a', exp)], [true, false])
  t.equal(await access.claimEverywhere('a', exp), true, 'here it was noted')
  t.equal(list.size, 0)
})

t.test('a list for all processes notes what a login has used (OAU-1)', async (t) => {
  const noted = new Set<string>()
  const revocation = {
    revoke: (id: string) => void noted.add(id),
    isRevoked: (id: string) => noted.has(id),
  }
  const exp = Date.parse('2100-01-01') / 1000
  const [one, other] = [await start(GITHUB, { revocation }), await start(GITHUB, { revocation })]
  t.equal(await one.access.claimHere('a', exp), true)
  t.equal(noted.size, 0, 'anybody may begin logins')
  t.equal(await one.access.claimEverywhere('a', exp), true)
  t.equal(await other.access.claimEverywhere('a', exp), false)
})

t.test('nothing is sealed with a public key, which everybody has (OAU-1)', async (t) => {
  const pair = () =>
    generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
  const [newer, older] = [pair(), pair()]
  const { access } = await start(GITHUB, {
    secret: [newer.privateKey, older.publicKey],
    jwtOptions: { algorithm: 'RS256' },
  })
  t.strictSame(access.secrets, [`authentication ${newer.privateKey}`])
})

t.test('uses new settings from the next call on', async (t) => {
  const { app, access, authentication } = await start()
  const before = access.getProvider()
  const settings = authentication.configuration
  app.set('authentication', { ...settings, oauth: { github: { ...GITHUB, key: 'new' } } })
  t.equal(access.getProvider().settings.key, 'new')
  t.not(access.getProvider(), before)
  t.equal(access.getProvider(), access.getProvider())
})

t.test('logs new settings that are not valid, and goes on with the old ones', async (t) => {
  const { app, log, access, authentication } = await start()
  const settings = authentication.configuration
  const wrong = [{ github: { ...GITHUB, pkce: false } }, { github: { secret: 'S3CRET' } }, {}]
  for (const oauth of wrong) {
    app.set('authentication', { ...settings, oauth })
    t.equal(access.getProvider().settings.key, 'id', JSON.stringify(oauth))
  }
  t.ok(log.some(({ level }) => level === 'error'))
  t.notMatch(JSON.stringify(log), 'S3CRET')
})

/** Settings that fail the start, and what the error says. */
const WRONG: readonly (readonly [section: object, message: RegExp])[] = [
  [{ secret: 'secret' }, /has no 'key'/],
  [{ ...GITHUB, pkce: false }, /'pkce' must be true/],
  [{ ...GITHUB, overrides: { admin: { custom_params: { state: 'x' } } } }, /overrides\.admin/],
  [{ ...GITHUB, response: 'code' }, /'authentication\.authStrategies' must name 'github'/],
]

t.test('fails the start with settings that can not work', async (t) => {
  for (const [section, message] of WRONG) {
    await t.rejects(start(section), { name: 'TypeError', message }, String(message))
  }
})

t.test('fails the start where something is missing', async (t) => {
  t.throws(() => createApp().configure(oauth()), /an authentication service must be registered/)
  t.throws(() => oauth({ linkStrategie: 'jwt' } as object), /unknown option 'linkStrategie'/)
  await t.rejects(start(GITHUB, { entity: null }), {
    message: /'github' keeps accounts in an entity/,
  })
  const others = { oauth: { github: GITHUB, google: GITHUB } }
  await t.rejects(start(GITHUB, others), { message: /register\('google', new OAuthStrategy\(\)\)/ })
})

t.test('adds no services where there are no settings, and says so', async (t) => {
  const { app, log } = createLoginApp({ strategies: { local: undefined } })
  app.configure(oauth())
  await app.setup()
  t.throws(() => app.service('oauth/:provider'), { code: 404 })
  t.match(log, [{ level: 'warn', details: { setting: 'authentication.oauth' } }])
})

t.test('warns once of a provider without settings, and keeps it off', async (t) => {
  const sections = [undefined, {}, { github: undefined }, { google: GITHUB }, { redirect: '/' }]
  for (const oauthSection of sections) {
    const github = new OAuthStrategy()
    const { app, log, authentication } = createLoginApp({
      settings: { oauth: oauthSection, authStrategies: ['jwt', 'github'] },
      strategies: { local: undefined, google: new OAuthStrategy(), github },
    })
    app.configure(oauth())
    await app.setup()
    const setting = 'authentication.oauth.github'
    const warnings = log.filter(
      ({ details }) => (details as { setting?: string }).setting === setting,
    )
    t.match(warnings, [{ level: 'warn' }], JSON.stringify(oauthSection))
    t.equal(warnings.length, 1)
    t.strictSame([github.isOn, github.configuration['service']], [false, 'users'])
    const { code, access_token } = { code: 'x', access_token: 'x' }
    for (const proof of [
      { code },
      { access_token },
      { id_token: 'x' },
      { profile: { id: 1 } },
      {},
    ]) {
      for (const params of [{}, { provider: 'rest' }]) {
        const login = app.service('authentication').create({ strategy: 'github', ...proof }, params)
        await t.rejects(login, { code: 401, message: /'github' are not configured/ })
      }
    }
    if (oauthSection !== undefined) {
      const flow = app.service('oauth/:provider').find({ route: { provider: 'github' } })
      await t.rejects(flow, { code: 404, message: 'There is no such provider' })
    }
    // A section that comes later was not checked with the start.
    app.set('authentication', {
      ...authentication.configuration,
      oauth: { ...oauthSection, github: GITHUB },
    })
    t.notHas(authentication.configuration['oauth'] ?? {}, { github: GITHUB })
    t.notOk(github.isOn)
    t.match(log.at(-1), {
      level: 'error',
      details: { err: { message: /start the application again/ } },
    })
  }
})

t.test('sets a strategy up whose settings come before the start', async (t) => {
  const app = createApp()
  const authentication = new AuthenticationService(app, 'authentication', {
    ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'github'] },
  })
  const github = new OAuthStrategy()
  authentication.register('jwt', new JwtStrategy()).register('github', github)
  app.use('users', new UserService()).use('authentication', authentication)
  app.set('authentication', { ...authentication.configuration, oauth: { github: GITHUB } })
  await app.setup()
  t.ok(github.isOn)
})
