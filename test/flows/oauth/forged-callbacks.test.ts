import { randomUUID } from 'node:crypto'
import { EncryptJWT } from 'jose'
import t from 'tap'
import type { OAuthStrategy } from '../../../src/auth/index.ts'
import { sealData } from '../../../src/auth/tokens/sealed-data.ts'
import { deriveKey } from '../../../src/core/secrets/secret.ts'
import { atTime } from '../../auth/login-app.ts'
import type { BegunLogin } from '../../support/oauth/attacked-app.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'
import { SECRET } from '../../support/users.ts'

const app = await startAttackedApp(t)
const NAME = 'remex-oauth-example'
const SECOND = 1000
const BEGUN = 1_800_000_000_000

/** A callback, changed by somebody who has not begun it. */
interface Forgery {
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

type Forge = (login: BegunLogin) => Forgery | Promise<Forgery>

/** The parameters of a callback, changed. */
function withQuery({ callback }: BegunLogin, change: (query: URLSearchParams) => void): string {
  const url = new URL(callback)
  change(url.searchParams)
  return url.href
}

const sealedOf = ({ cookie }: BegunLogin) => cookie.slice(NAME.length + 1)
const asCookie = (value: string): Forgery => ({ headers: { cookie: `${NAME}=${value}` } })

/** Encrypts what a flow would be, by a key that nobody but the attacker uses. */
function encrypt(header: { alg: string; enc: string; zip?: string }, key: Uint8Array) {
  const flow = { provider: 'example', state: 'state', nonce: null, verifier: 'v'.repeat(43) }
  return new EncryptJWT({ ...flow, redirectUri: `${app.origin}/oauth/example/callback`, query: {} })
    .setProtectedHeader({ typ: 'oauth-flow', ...header })
    .setIssuedAt()
    .setExpirationTime('10m')
    .encrypt(key)
}

const inQuery =
  (change: (query: URLSearchParams) => void): Forge =>
  (login) => ({
    path: withQuery(login, change),
  })

const WITHOUT_FLOW: Readonly<Record<string, string>> = {
  'nothing at all': '',
  'a profile': '?profile[email]=victim@example.com&profile[sub]=ann',
  'a response': '?response[access_token]=token&response[profile][sub]=ann',
  'tokens and a profile': '?access_token=token&id_token=e30.e30.e30&raw[sub]=ann&profile=ann',
  'a code and a state': '?code=code&state=state&iss=https://example.com',
  'an error': '?error=access_denied&state=state',
  'a redirect': '?redirect=//attacker.test&error=access_denied',
}

t.test('a callback without a flow asks, finds and makes nothing (FTH-12, OAU-1)', async (t) => {
  app.takeTraces()
  for (const [name, query] of Object.entries(WITHOUT_FLOW)) {
    for (const method of ['GET', 'POST']) {
      const path = `/oauth/example/callback${method === 'GET' ? query : ''}`
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const request = method === 'GET' ? {} : { method, headers, body: query.slice(1) }
      const response = await app.send(path, request)
      t.equal(response.status, 401, `${method} ${name}`)
      t.equal(response.headers.get('location'), null, name)
    }
  }
  t.strictSame(app.takeTraces(), [])
})

const FORGERIES: Readonly<Record<string, Forge>> = {
  'without the cookie': () => ({ headers: {} }),
  "with another browser's cookie": async () => ({
    headers: { cookie: (await app.begin()).cookie },
  }),
  "with another provider's cookie": async () => {
    const { cookie } = await app.begin('/oauth/other')
    return asCookie(cookie.slice('remex-oauth-other='.length))
  },
  'at another provider': (login) => ({
    path: login.callback.replace('/example/', '/other/'),
    headers: { cookie: `remex-oauth-other=${sealedOf(login)}` },
  }),
  'with an empty cookie': () => asCookie(''),
  'with a cookie that is no JWE': () => asCookie('a.b.c.d.e'),
  'with a truncated cookie': (login) => asCookie(sealedOf(login).slice(0, -8)),
  'with a cookie that was changed': (login) => {
    const [header, key, iv, text = '', tag] = sealedOf(login).split('.')
    const changed = `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`
    return asCookie([header, key, iv, changed, tag].join('.'))
  },
  'with the header of the cookie changed': (login) => {
    const [, ...others] = sealedOf(login).split('.')
    const header = Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString('base64url')
    return asCookie([header, ...others].join('.'))
  },
  'with two cookies of the name': (login) => ({
    headers: { cookie: `${login.cookie}; ${login.cookie}` },
  }),
  'with a cookie by another secret': async () => {
    const key = deriveKey('oauth-flow', 'other')
    return asCookie(sealData('oauth-flow', { provider: 'example', state: 's' }, key, 600))
  },
  'with a login code as cookie': async () =>
    asCookie(
      await (app.authentication.getStrategy('example') as OAuthStrategy).providerAccess.createCode(
        '1',
      ),
    ),
  'with an access token as cookie': async () =>
    asCookie(await app.authentication.createAccessToken({}, { subject: '1' })),
  'with a cookie by the secret itself': async () =>
    asCookie(await encrypt({ alg: 'dir', enc: 'A256GCM' }, Buffer.from(SECRET).subarray(0, 32))),
  'with a cookie by the secret of another algorithm': async () =>
    asCookie(
      await encrypt({ alg: 'A256KW', enc: 'A128CBC-HS256' }, Buffer.from(SECRET).subarray(0, 32)),
    ),
  'with a cookie by a password': async () =>
    asCookie(await encrypt({ alg: 'PBES2-HS256+A128KW', enc: 'A256GCM' }, Buffer.from(SECRET))),
  'with another state': inQuery((query) => query.set('state', randomUUID())),
  'without a state': inQuery((query) => query.delete('state')),
  'with an empty state': inQuery((query) => query.set('state', '')),
  'with two states': inQuery((query) => query.append('state', 'another')),
  'with a state as a list': inQuery((query) => {
    query.set('state[]', query.get('state') ?? '')
    query.delete('state')
  }),
  'with a state as an object': inQuery((query) => {
    query.set('state[$ne]', '1')
    query.delete('state')
  }),
  'with two codes': inQuery((query) => query.append('code', 'another')),
  'with a code as an object': inQuery((query) => query.set('code[$ne]', '1')),
  'with two iss': inQuery((query) => query.append('iss', 'https://example.com')),
  'with a profile beside': inQuery((query) => query.set('profile[sub]', 'victim')),
  'as a form, from a browser that sends no cookie': (login) => ({
    path: '/oauth/example/callback',
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URL(login.callback).search.slice(1),
  }),
  'as JSON with objects': (login) => ({
    path: '/oauth/example/callback',
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: login.cookie },
    body: JSON.stringify({ code: { $ne: 1 }, state: { $ne: 1 } }),
  }),
}

t.test('a forged callback asks, finds and makes nothing (FTH-12, OAU-1)', async (t) => {
  for (const [name, forge] of Object.entries(FORGERIES)) {
    const login = await app.begin()
    const {
      path = login.callback,
      headers = { cookie: login.cookie },
      ...rest
    } = await forge(login)
    app.takeTraces()
    const response = await app.send(path, { headers, ...rest })
    t.equal(response.status, 401, name)
    t.equal(response.headers.get('location'), null, `${name}: leads nowhere`)
    t.strictSame(app.takeTraces(), [], name)
  }
})

const NO_OBJECTS: Readonly<Record<string, string>> = {
  null: 'null',
  'a string': '"code"',
  'a list': '[{"code":"code","state":"state"}]',
  'an empty list': '[]',
  'a number': '1',
}

t.test('a callback whose body is no object is an error of the caller (FTH-12)', async (t) => {
  const { cookie } = await app.begin()
  app.takeTraces()
  for (const [name, body] of Object.entries(NO_OBJECTS)) {
    const headers = { 'content-type': 'application/json', cookie }
    const { status } = await app.send('/oauth/example/callback', { method: 'POST', headers, body })
    t.ok(status === 400 || status === 401 || status === 405, `${name}: ${status}`)
  }
  t.strictSame(app.takeTraces(), [])
})

t.test('a callback that the provider confirms is a login, but only once (OAU-1)', async (t) => {
  const login = await app.begin()
  t.match((await app.finish(login)).headers.get('location'), /#access_token=/)
  app.takeTraces()
  const again = await app.finish(login)
  t.equal(again.status, 401)
  t.match(await again.json(), { name: 'NotAuthenticated' })
  t.strictSame(app.takeTraces(), [])
})

t.test('of two callbacks at the same time one is a login (OAU-1)', async (t) => {
  const login = await app.begin()
  const responses = await Promise.all([app.finish(login), app.finish(login), app.finish(login)])
  const statuses = responses.map(({ status }) => status)
  t.strictSame(statuses.sort(), [303, 401, 401])
})

t.test('a login that has failed at the provider can not be tried again (OAU-1)', async (t) => {
  const login = await app.begin()
  const failed = await app.send(
    withQuery(login, (query) => query.set('code', 'guess')),
    {
      headers: { cookie: login.cookie },
    },
  )
  t.match(failed.headers.get('location'), /#error=/)
  t.equal((await app.finish(login)).status, 401)
})

t.test('a login that takes longer than ten minutes is none (OAU-1)', async (t) => {
  const begin = () => atTime(BEGUN, () => app.begin())
  const [late, early] = [await begin(), await begin()]
  app.takeTraces()
  const response = await atTime(BEGUN + 601 * SECOND, () => app.finish(late))
  t.equal(response.status, 401)
  t.strictSame(app.takeTraces(), [])
  const inTime = await atTime(BEGUN + 590 * SECOND, () => app.finish(early))
  t.equal(inTime.status, 303)
})

t.test('a cookie of 100 kB is refused before anything is read (OAU-1)', async (t) => {
  const login = await app.begin()
  app.takeTraces()
  const cookie = `${NAME}=${'a'.repeat(100_000)}`
  const { status } = await app.send(login.callback, { headers: { cookie } })
  t.equal(status, 431)
  t.strictSame(app.takeTraces(), [])
})
