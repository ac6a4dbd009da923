import { generateKeyPair, SignJWT } from 'jose'
import type { Test } from 'tap'
import t from 'tap'
import { atTime } from '../../auth/login-app.ts'
import type { AttackedApp, AttackedAppOptions } from '../../support/oauth/attacked-app.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'
import { CLAIM_LIES, JWKS_LIES, SIGNATURE_LIES } from '../../support/oauth/openid-lies.ts'

const SECOND = 1000
const NOW = 1_800_000_000_000

/** Sends a login of a program that has gone to the provider by itself. */
function logIn(app: AttackedApp, data: object, headers: Record<string, string> = {}) {
  return app.send('/authentication', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ strategy: 'example', ...data }),
  })
}

const start = (t: Test, options?: AttackedAppOptions) => startAttackedApp(t, options)

/** Shared by what leaves nothing behind: keys and documents are made for each application. */
const shared = await start(t)
t.beforeEach(() => {
  shared.provider.lie = {}
  shared.takeTraces()
})
const CALLS = ['find', 'get', 'create', 'patch', 'update', 'remove']
const callsOf = (app: AttackedApp) => app.takeTraces().filter((one) => CALLS.includes(one))

t.test('an id token of this application logs its owner in (OAU-2)', async (t) => {
  const app = shared
  const id_token = await app.provider.createIdToken({ nonce: 'n-1' })
  const response = await logIn(app, { id_token, nonce: 'n-1' })
  t.equal(response.status, 201)
  t.match(await response.json(), {
    authentication: { strategy: 'example' },
    user: { exampleId: 'ann' },
  })
})

t.test('an id token that must not be taken is not (OAU-2)', async (t) => {
  const app = shared
  for (const [name, lie] of Object.entries({ ...CLAIM_LIES, ...SIGNATURE_LIES })) {
    app.provider.lie = lie
    const id_token = await app.provider.createIdToken({ nonce: 'n-1' })
    t.equal((await logIn(app, { id_token, nonce: 'n-1' })).status, 401, name)
    t.strictSame(callsOf(app), [], name)
  }
})

t.test('an id token counts for its own provider only (OAU-2)', async (t) => {
  const app = shared
  const id_token = await app.other.createIdToken()
  t.equal((await logIn(app, { id_token })).status, 401)
  t.equal((await logIn(app, { strategy: 'other', id_token })).status, 201)
})

/** By what is in the token and what is sent beside it; `undefined` is not there. */
const NONCES: readonly (readonly [inToken: unknown, sent: unknown, status: number])[] = [
  [undefined, undefined, 201],
  ['n-1', 'n-1', 201],
  ['n-1', undefined, 401],
  ['n-1', '', 401],
  ['n-1', 'n-2', 401],
  ['n-1', ['n-1'], 401],
  ['n-1', { $ne: 1 }, 401],
  ['n-1', null, 401],
  [undefined, 'n-1', 401],
  [undefined, null, 401],
  [{}, {}, 401],
]

t.test('the nonce of an id token is that of the request (OAU-2)', async (t) => {
  const app = shared
  for (const [inToken, sent, status] of NONCES) {
    const id_token = await app.provider.createIdToken({ nonce: inToken })
    const label = `${JSON.stringify(inToken)} ${JSON.stringify(sent)}`
    t.equal((await logIn(app, { id_token, nonce: sent })).status, status, label)
  }
})

t.test('an id token expires, and is not taken before its time (OAU-2)', async (t) => {
  const app = shared
  const nbf = NOW / SECOND + 60
  const [id_token, later] = await atTime(NOW, () =>
    Promise.all([app.provider.createIdToken(), app.provider.createIdToken({ nbf })]),
  )
  t.equal((await atTime(NOW + 700 * SECOND, () => logIn(app, { id_token }))).status, 401)
  t.equal((await atTime(NOW, () => logIn(app, { id_token: later }))).status, 401)
  t.equal((await atTime((nbf + 1) * SECOND, () => logIn(app, { id_token: later }))).status, 201)
})

/** Logins that prove nothing. */
const WRONG: Readonly<Record<string, object>> = {
  nothing: {},
  'a profile': { profile: { sub: 'ann', id: 1 } },
  'a profile, and an id token that is none': { profile: { sub: 'ann' }, id_token: 'x' },
  'a profile, and a code': { profile: { sub: 'ann' }, code: 'x' },
  'the fields of a callback': { code: 'x', state: 'y', raw: {} },
  'an id token that is an object': { id_token: { sub: 'ann' } },
  'an id token that is a list': { id_token: ['x'] },
  'an id token that is empty': { id_token: '' },
  'a code that is an object': { code: { $ne: 1 } },
  'a code that is null': { code: null },
  'an access token': { access_token: 'x' },
  'an access token that is an object': { access_token: { $ne: 1 } },
}

t.test('a login by what proves nothing is refused (FTH-12, OAU-2)', async (t) => {
  const app = shared
  for (const [name, data] of Object.entries(WRONG)) {
    t.equal((await logIn(app, data)).status, 401, name)
    t.strictSame(callsOf(app), [], name)
  }
})

t.test('a profile counts for nothing beside a real id token (OAU-2)', async (t) => {
  const app = shared
  const id_token = await app.provider.createIdToken({ sub: 'eve' })
  const response = await logIn(app, { id_token, profile: { sub: 'victim' } })
  t.match(await response.json(), { user: { exampleId: 'eve' } })
})

t.test('what is not among authStrategies is refused (FTH-12)', async (t) => {
  const app = await start(t, { settings: { authStrategies: ['jwt', 'other'] } })
  const id_token = await app.provider.createIdToken()
  app.takeTraces()
  t.equal((await logIn(app, { id_token })).status, 401)
  t.strictSame(app.takeTraces(), [])
})

/** An answer of the introspection endpoint, and what becomes of the login. */
const INTROSPECTIONS: readonly (readonly [answer: object, status: number])[] = [
  [{ active: true, client_id: 'notes', sub: 'ann' }, 201],
  [{ active: true, client_id: 'another-client', sub: 'ann' }, 401],
  [{ active: true, sub: 'ann' }, 401],
  [{ active: true, client_id: ['notes'], sub: 'ann' }, 401],
  [{ active: false, client_id: 'notes', sub: 'ann' }, 401],
  [{ active: 'true', client_id: 'notes', sub: 'ann' }, 401],
  [{ active: true, client_id: 'notes', sub: 'victim' }, 401],
  [{}, 401],
]

t.test('an access token counts where the provider says for whom it is (OAU-2)', async (t) => {
  const app = await start(t)
  const { issuer } = app.provider
  for (const [body, status] of INTROSPECTIONS) {
    app.provider.lie = {
      discovery: (honest) => ({ ...honest, introspection_endpoint: `${issuer}/introspect` }),
      answers: { '/introspect': { body } },
    }
    const response = await logIn(app, { access_token: 'token' })
    t.equal(response.status, status, JSON.stringify(body))
    t.equal(callsOf(app).length > 0, status === 201)
  }
})

t.test('guesses are limited as those of passwords, and no flow is (OAU-2)', async (t) => {
  const settings = {
    authStrategies: ['jwt', 'example', 'other'],
    loginThrottle: { maxAttempts: 2, maxAttemptsPerAddress: 5, windowSeconds: 3600 },
  }
  const app = await start(t, { settings })
  const { issuer } = app.provider
  const introspection_endpoint = `${issuer}/introspect`
  app.provider.lie = {
    discovery: (honest) => ({ ...honest, introspection_endpoint }),
    answers: { '/introspect': { body: { active: false } } },
  }
  const guess = async (data: object) => (await logIn(app, data)).status
  for (const id_token of await Promise.all(
    [...Array(20)].map(() => app.provider.createIdToken()),
  )) {
    t.equal(await guess({ id_token }), 201, 'who is confirmed is not counted')
  }
  const guesses = [...Array(40).keys()].map((index) => guess({ access_token: `guess-${index}` }))
  const statuses = await Promise.all(guesses)
  t.strictSame(statuses.sort(), [...Array(5).fill(401), ...Array(35).fill(429)])
  const asked = app.provider.requests.filter(({ path }) => path === '/introspect')
  t.equal(asked.length, 5)
  t.equal(await guess({ strategy: 'other', id_token: 'x' }), 429, 'whatever the provider')
  t.equal(await guess({ code: 'x' }), 429, 'whatever is sent')
  app.provider.lie = {}
  const { headers } = await app.finish(await app.begin())
  t.match(headers.get('location'), /#access_token=/)
})

const fetchesOf = (app: AttackedApp) =>
  app.provider.requests.filter(({ path }) => path === '/jwks').length

t.test('tokens with keys that nobody knows fetch the keys once in 30 s (OAU-2)', async (t) => {
  const app = await start(t)
  const { 'a kid that is not in the JWKS': forged = {} } = SIGNATURE_LIES
  const createIdToken = () => atTime(NOW, () => app.provider.createIdToken())
  const honest = await createIdToken()
  t.equal((await atTime(NOW, () => logIn(app, { id_token: honest }))).status, 201)
  t.equal(fetchesOf(app), 1)
  app.provider.lie = forged
  const id_token = await createIdToken()
  const flood = async (at: number) => {
    for (let count = 0; count < 5; count += 1) {
      t.equal((await atTime(at, () => logIn(app, { id_token }))).status, 401)
    }
  }
  await flood(NOW)
  t.equal(fetchesOf(app), 1, 'the keys are fresh')
  await flood(NOW + 35 * SECOND)
  t.equal(fetchesOf(app), 2)
  await flood(NOW + 70 * SECOND)
  t.equal(fetchesOf(app), 3)
})

t.test('an id token does not say where its key is (OAU-2)', async (t) => {
  const { provider, other } = shared
  const { privateKey } = await generateKeyPair('RS256')
  const count = other.requests.length
  for (const name of ['jku', 'x5u']) {
    const id_token = await new SignJWT({
      iss: provider.issuer,
      aud: provider.client.key,
      sub: 'ann',
    })
      .setProtectedHeader({ alg: 'RS256', [name]: `${other.origin}/jwks` })
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(privateKey)
    t.equal((await logIn(shared, { id_token })).status, 401, name)
  }
  t.equal(other.requests.length, count)
  t.strictSame(callsOf(shared), [])
})

t.test('keys that are none let nobody in (OAU-2)', async (t) => {
  for (const [name, lie] of Object.entries(JWKS_LIES)) {
    const app = await start(t)
    app.provider.lie = lie
    const id_token = await app.provider.createIdToken()
    t.equal((await logIn(app, { id_token })).status, 401, name)
  }
})

t.test('a login beside an access token links, and only with a valid one (OAU-1)', async (t) => {
  const app = shared
  const first = await logIn(app, { id_token: await app.provider.createIdToken({ sub: 'ann' }) })
  const { accessToken } = (await first.json()) as { accessToken: string }
  const id_token = await app.other.createIdToken({ sub: 'other-ann' })
  const authorization = `Bearer ${accessToken}`
  const forged = await logIn(app, { strategy: 'other', id_token }, { authorization: 'Bearer x' })
  t.equal(forged.status, 401)
  const linked = await logIn(app, { strategy: 'other', id_token }, { authorization })
  t.match(await linked.json(), { user: { exampleId: 'ann', otherId: 'other-ann' } })
})
