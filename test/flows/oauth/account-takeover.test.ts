import t from 'tap'
import { OAuthStrategy } from '../../../src/auth/index.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'
import { until } from '../../support/until.ts'

const VICTIM = 'ann@example.com'

/** Profiles of somebody else, which look like the victim's. */
const PROFILES: Readonly<Record<string, object>> = {
  'the same address, unverified': { email: VICTIM, email_verified: false },
  'the same address, verified': { email: VICTIM, email_verified: true },
  'the same address, without a word': { email: VICTIM },
  'the address in capital letters': { email: 'ANN@example.com', email_verified: true },
  'a letter of another alphabet': { email: '\u0430nn@example.com', email_verified: true },
  'letters of full width': { email: 'ａnn@example.com', email_verified: true },
  'a soft hyphen': { email: 'an\u00adn@example.com', email_verified: true },
  'a list of addresses': { email: [VICTIM], email_verified: true },
  'an operator': { email: { $ne: null }, email_verified: true },
  'the id of the account': { _id: 1, id: 1, user: 1, exampleId: 'victim', otherId: 'victim' },
}

t.test('an account is found by the id at the provider, and by no address (OAU-3)', async (t) => {
  const app = await startAttackedApp(t)
  const users = app.authentication.app.service('users')
  const victim = await users.create({ email: VICTIM, otherId: 'victim' })
  for (const [name, profile] of Object.entries(PROFILES)) {
    const sub = `attacker: ${name}`
    app.provider.account = { ...profile, sub }
    const { headers } = await app.finish(await app.begin())
    const { hash } = new URL(headers.get('location') ?? '/', app.origin)
    const { body } = await app.getMe(new URLSearchParams(hash.slice(1)).get('access_token') ?? '')
    const { user } = body as { user: Record<string, unknown> }
    t.strictSame(Object.keys(user).sort(), ['_id', 'exampleId'], name)
    t.equal(user['exampleId'], sub, name)
  }
  const { _id: id } = victim as { _id: string }
  t.strictSame(await users.get(id), victim, 'the account of the victim is as it was')
})

t.test('an id at one provider is none at another (OAU-3)', async (t) => {
  const app = await startAttackedApp(t)
  app.provider.account = { sub: 'ann' }
  app.other.account = { sub: 'ann' }
  await app.finish(await app.begin())
  await app.finish(await app.begin('/oauth/other'))
  const users = await app.authentication.app.service('users').find({ query: {} })
  t.match(users, { total: 2 })
})

/** By provider and profile, the address that it has confirmed. */
const CONFIRMED: readonly (readonly [provider: string, profile: object, email: string | null])[] = [
  ...[
    'apple',
    'auth0',
    'github',
    'gitlab',
    'google',
    'keycloak',
    'linkedin',
    'okta',
    'own',
  ].flatMap(
    (name) =>
      [
        [name, { email: VICTIM, email_verified: true }, VICTIM],
        [name, { email: VICTIM, email_verified: false }, null],
        [name, { email: VICTIM }, null],
        [name, { email: VICTIM, verified: true }, null],
      ] as const,
  ),
  ['apple', { email: VICTIM, email_verified: 'true' }, VICTIM],
  ['apple', { email: VICTIM, email_verified: 'false' }, null],
  ['google', { email: VICTIM, email_verified: 1 }, null],
  ['google', { email: VICTIM, email_verified: {} }, null],
  ['google', { email: [VICTIM], email_verified: true }, null],
  ['google', { email: '', email_verified: true }, null],
  ['google', { email_verified: true }, null],
  ['discord', { email: VICTIM, verified: true }, VICTIM],
  ['discord', { email: VICTIM, verified: false }, null],
  ['discord', { email: VICTIM, email_verified: true }, null],
  // A tenant of Microsoft writes what it likes; Facebook says nothing.
  ['microsoft', { email: VICTIM, email_verified: true, verified: true }, null],
  ['facebook', { email: VICTIM, email_verified: true, verified: true }, null],
]

t.test('an address counts only where its provider says that it is confirmed (OAU-3)', (t) => {
  for (const [name, profile, email] of CONFIRMED) {
    const strategy = new OAuthStrategy()
    strategy.setName(name)
    t.equal(strategy.getVerifiedEmail({ ...profile }), email, `${name} ${JSON.stringify(profile)}`)
  }
  t.end()
})

for (const path of ['/token', '/userinfo']) {
  t.test(`a caller who leaves ends the request to ${path} (ABORT-4)`, async (t) => {
    const app = await startAttackedApp(t)
    const login = await app.begin()
    app.provider.lie = { answers: { [path]: () => undefined } }
    const leaving = new AbortController()
    const headers = { cookie: login.cookie }
    const finished = fetch(login.callback, { headers, signal: leaving.signal, redirect: 'manual' })
    await until(() => app.provider.requests.some((request) => request.path === path))
    t.strictSame(app.provider.cut, [])
    leaving.abort()
    await t.rejects(finished)
    await until(() => app.provider.cut.includes(path))
    t.strictSame(app.calls, [], 'nobody is found or made')
  })
}

t.test('a caller who leaves ends no login of somebody else (ABORT-4)', async (t) => {
  const app = await startAttackedApp(t)
  const path = '/.well-known/openid-configuration'
  const { issuer } = app.provider
  let answer = (): void => undefined
  const waiting = new Promise<void>((resolve) => {
    answer = resolve
  })
  const endpoints = ['authorize', 'token', 'jwks', 'userinfo'] as const
  const [authorization_endpoint, token_endpoint, jwks_uri] = endpoints.map(
    (one) => `${issuer}/${one}`,
  )
  const document = { issuer, authorization_endpoint, token_endpoint, jwks_uri }
  app.provider.lie = {
    answers: {
      [path]: (response) => {
        response.setHeader('content-type', 'application/json')
        return waiting.then(() => response.end(JSON.stringify(document)))
      },
    },
  }
  const leaving = new AbortController()
  const url = `${app.origin}/oauth/example`
  const first = fetch(url, { signal: leaving.signal, redirect: 'manual' })
  await until(() => app.provider.requests.length >= 1)
  const second = app.send('/oauth/example')
  leaving.abort()
  await t.rejects(first)
  answer()
  t.match((await second).headers.get('location'), `${issuer}/authorize`)
  t.strictSame(app.provider.cut, [])
})
