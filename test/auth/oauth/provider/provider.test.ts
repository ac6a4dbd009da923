import { AsyncLocalStorage } from 'node:async_hooks'
import type { Test } from 'tap'
import t from 'tap'
import type { Flow } from '../../../../src/auth/oauth/flow-cookie.ts'
import { OAuthProvider, REQUEST_MS } from '../../../../src/auth/oauth/provider/provider.ts'
import { ProviderSession } from '../../../../src/auth/oauth/provider/provider-session.ts'
import { resolveProvider } from '../../../../src/auth/oauth/settings/provider-settings.ts'
import { holdTimers, stopClock } from '../../../support/clock.ts'
import type { AttackedApp } from '../../../support/oauth/attacked-app.ts'
import { startAttackedApp } from '../../../support/oauth/attacked-app.ts'
import type { Answered } from '../../../support/oauth/local-server.ts'
import { startLyingOpenIdServer } from '../../../support/oauth/lying-openid-server.ts'
import type { OpenIdLie } from '../../../support/oauth/openid-lies.ts'
import { until } from '../../../support/until.ts'

const DOCUMENT = '/.well-known/openid-configuration'

const start = (t: Test) => startAttackedApp(t)

/** Resolves to the page after a login. */
async function logIn(app: AttackedApp): Promise<string> {
  const { headers } = await app.finish(await app.begin())
  return headers.get('location') ?? ''
}

function countOf(app: AttackedApp, path: string): number {
  return app.provider.requests.filter((request) => request.path === path).length
}

t.test('a login leaves no AsyncLocalStorage, which would slow down each promise', async (t) => {
  const app = await start(t)
  const { run, enterWith } = AsyncLocalStorage.prototype
  t.teardown(() => Object.assign(AsyncLocalStorage.prototype, { run, enterWith }))
  const used: unknown[] = []
  const note = function (this: unknown, ...values: unknown[]) {
    used.push(this)
    return Reflect.apply(run, this, values)
  }
  Object.assign(AsyncLocalStorage.prototype, { run: note, enterWith: note })
  t.match(await logIn(app), /#access_token=/)
  t.strictSame(used, [])
})

t.test('document and keys are fetched for all logins of five minutes', async (t) => {
  const app = await start(t)
  for (const _login of [1, 2, 3]) t.match(await logIn(app), /#access_token=/)
  t.equal(countOf(app, DOCUMENT), 1)
  t.equal(countOf(app, '/jwks'), 1)
  t.equal(countOf(app, '/token'), 3)
})

t.test('the document is fetched again after an hour', async (t) => {
  const clock = stopClock(t)
  const app = await start(t)
  await app.begin()
  clock.advance(3_599_999)
  await app.begin()
  t.equal(countOf(app, DOCUMENT), 1)
  clock.advance(1)
  await app.begin()
  t.equal(countOf(app, DOCUMENT), 2)
})

const FAILURES: Readonly<Record<string, (app: AttackedApp) => OpenIdLie>> = {
  'a token endpoint that has moved': () => ({ answers: { '/token': { status: 404 } } }),
  'a signature of a key that is not published': ({ other }) => ({
    sign: (claims) => other.createIdToken(claims),
  }),
}

for (const [name, toLie] of Object.entries(FAILURES)) {
  t.test(`${name} has the document fetched again, once a minute`, async (t) => {
    const clock = stopClock(t)
    const app = await start(t)
    t.match(await logIn(app), /#access_token=/)
    app.provider.lie = toLie(app)
    const failTwice = async () => {
      for (const _attempt of [1, 2]) t.match(await logIn(app), /#error=/)
      return countOf(app, DOCUMENT)
    }
    clock.advance(59_999)
    t.equal(await failTwice(), 1)
    clock.advance(1)
    t.equal(await failTwice(), 2)
    clock.advance(59_999)
    t.equal(await failTwice(), 2)
  })
}

t.test('a login that its user refuses says nothing about the document', async (t) => {
  const clock = stopClock(t)
  const app = await start(t)
  await app.begin()
  clock.advance(60_000)
  app.provider.lie = {
    callback: ({ state, iss }) => ({ state, iss, error: 'access_denied' }),
  }
  t.match(await logIn(app), /#error=You%20have%20not%20let/)
  await app.begin()
  t.equal(countOf(app, DOCUMENT), 1)
})

t.test('id tokens of direct logins are verified by the keys of the newest document', async (t) => {
  const clock = stopClock(t)
  const app = await start(t)
  const send = async () =>
    app.send('/authentication', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        strategy: 'example',
        id_token: await app.provider.createIdToken(),
      }),
    })
  t.equal((await send()).status, 201)
  clock.advance(3_600_000)
  app.provider.lie = {
    discovery: (honest) => ({ ...honest, jwks_uri: `${app.other.issuer}/jwks` }),
  }
  t.equal((await send()).status, 401)
  t.equal(app.other.requests.filter(({ path }) => path === '/jwks').length, 1)
})

/** Begins the callback of a login, which a path of the provider holds up, and leaves. */
async function leaveAt(app: AttackedApp, path: string): Promise<void> {
  const { callback, cookie } = await app.begin()
  const count = countOf(app, path)
  const leaving = new AbortController()
  const { signal } = leaving
  const finished = fetch(callback, { headers: { cookie }, signal, redirect: 'manual' })
  await until(() => countOf(app, path) > count)
  leaving.abort()
  await finished.catch(() => undefined)
}

/** Has no request end by its time: neither by the limit of ours, nor by that of the library. */
function holdLimits(t: Test): void {
  holdTimers(t, REQUEST_MS)
  const { timeout } = AbortSignal
  t.teardown(() => Object.assign(AbortSignal, { timeout }))
  Object.assign(AbortSignal, { timeout: () => new AbortController().signal })
}

t.test('a request ends with its call, and not with its time (ABORT-4)', async (t) => {
  holdLimits(t)
  for (const path of ['/token', '/userinfo']) {
    const app = await start(t)
    app.provider.lie = { answers: { [path]: () => undefined } }
    await leaveAt(app, path)
    await until(() => app.provider.cut.includes(path))
    t.strictSame(app.calls, [])
  }
})

t.test('keys that are fetched are for the others as well (ABORT-4)', async (t) => {
  holdLimits(t)
  const app = await start(t)
  const keys = await (await fetch(`${app.provider.issuer}/jwks`)).text()
  let answer: () => unknown = () => undefined
  const hold: Answered = (response) => {
    answer = () => response.setHeader('content-type', 'application/json').end(keys)
  }
  app.provider.lie = { answers: { '/jwks': hold } }
  await leaveAt(app, '/jwks')
  const second = logIn(app)
  await until(() => countOf(app, '/jwks') >= 3)
  answer()
  t.match(await second, /#access_token=/)
  t.strictSame(app.provider.cut, [])
})

const MICROSOFT = 'https://login.microsoftonline.com'

t.test("the placeholder in Microsoft's issuer stands for the tenant, in each login", async (t) => {
  const server = await startLyingOpenIdServer()
  t.teardown(() => server.close())
  const { key, secret } = server.client
  const settings = resolveProvider('oauth.microsoft', { microsoft: { key, secret } }, 'microsoft')
  const provider = new OAuthProvider(settings)
  const claims = { iss: `${MICROSOFT}/one/v2.0`, tid: 'one', nonce: undefined }
  const tokens = { access_token: 'a', token_type: 'bearer' }
  const answers: Readonly<Record<string, () => object>> = {
    [`/common/v2.0${DOCUMENT}`]: () => ({
      issuer: `${MICROSOFT}/{tenantid}/v2.0`,
      authorization_endpoint: `${MICROSOFT}/authorize`,
      token_endpoint: `${MICROSOFT}/token`,
      jwks_uri: `${MICROSOFT}/keys`,
    }),
    '/keys': async () => (await fetch(`${server.issuer}/jwks`)).json(),
    '/token': async () => ({ ...tokens, id_token: await server.createIdToken(claims) }),
  }
  const asked: string[] = []
  provider.fetch = async (url) => {
    const { pathname } = new URL(url)
    asked.push(pathname)
    return Response.json(await answers[pathname]?.())
  }
  const flow = { state: 's', nonce: null, verifier: 'v'.repeat(43), redirectUri: 'https://a.b/c' }
  const finish = () => {
    const session = new ProviderSession(provider, undefined)
    return session.finish(new URLSearchParams({ code: 'c', state: 's' }), flow as Flow)
  }
  for (const _login of [1, 2]) t.match(await finish(), { profile: { tid: 'one' } })
  t.strictSame(asked, [`/common/v2.0${DOCUMENT}`, '/token', '/keys', '/token'])
  claims.tid = 'two'
  await t.rejects(finish(), { code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' })
})
