import { decodeJwt, decodeProtectedHeader } from 'jose'
import t from 'tap'
import type { Flow } from '../../../src/auth/oauth/flow-cookie.ts'
import { readFlow, removeFlow, storeFlow } from '../../../src/auth/oauth/flow-cookie.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'
import { parseSetCookie } from '../../support/oauth/set-cookie.ts'
import { SECRET } from '../../support/users.ts'

const CALLBACK = 'https://app.test/oauth/example/callback'

/** Headers whose values must be nowhere. */
const HEADERS = {
  'x-internal-key': 's3cret-of-the-proxy',
  'x-forwarded-for': '203.0.113.77',
  'user-agent': 'a-browser-of-somebody',
  referer: 'https://app.test/private/page?ticket=s3cret-of-the-page',
  cookie: 'session=s3cret-of-the-session',
}

const SECRETS = ['s3cret', '203.0.113.77', 'a-browser-of-somebody', 'private', 'x-internal-key']

t.test('no header is in the cookie, in a URL or in the log (FTH-16)', async (t) => {
  const app = await startAttackedApp(t, { oauth: { origins: ['https://app.test'] } })
  const login = await app.begin('/oauth/example?lang=en&feathers=x', HEADERS)
  const done = await app.send(login.callback, {
    headers: { ...HEADERS, cookie: `${HEADERS.cookie}; ${login.cookie}` },
  })
  t.equal(done.status, 303)
  const sent = app.provider.requests.map(({ query, headers, body }) => [`${query}`, headers, body])
  const traces = JSON.stringify([login, done.headers.get('location'), app.log])
  for (const secret of SECRETS) t.notOk(traces.includes(secret), secret)
  const asked = sent.filter(([, headers]) => JSON.stringify(headers).includes('s3cret'))
  t.strictSame(asked, [], 'nor is it sent to the provider')
})

t.test('nobody but the server reads the cookie (FTH-16)', async (t) => {
  const app = await startAttackedApp(t)
  const { cookie } = await app.begin('/oauth/example?redirect=/notes&lang=en')
  const [name = '', value = ''] = cookie.split('=')
  t.strictSame(decodeProtectedHeader(value), { alg: 'dir', enc: 'A256GCM', typ: 'oauth-flow' })
  t.throws(() => decodeJwt(value))
  const plain = value.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
  for (const part of [...plain, name, value]) {
    for (const text of ['notes', 'lang', 'verifier', 'state', 'nonce', app.provider.issuer]) {
      t.notOk(part.includes(text), text)
    }
  }
  t.not((await app.begin('/oauth/example?redirect=/notes&lang=en')).cookie, cookie)
})

t.test('the cookie is for the callback only, and for no script (CSRF-2)', async (t) => {
  const app = await startAttackedApp(t)
  const { setCookie } = await app.begin()
  const cookie = parseSetCookie(setCookie, new URL(app.origin), 0)
  t.match(cookie, {
    ...{ name: 'remex-oauth-example', path: '/oauth/example/callback', hostOnly: true },
    ...{ httpOnly: true, sameSite: 'Lax', secure: false, expires: 600_000 },
  })
  t.ok(setCookie.length < 4096)
})

t.test('with https the cookie is secure, and says so by its name (CSRF-2)', async (t) => {
  const app = await startAttackedApp(t, { section: { redirect_uri: CALLBACK } })
  const { setCookie } = await app.begin()
  const cookie = parseSetCookie(setCookie, new URL(CALLBACK), 0)
  t.match(cookie, {
    ...{ name: '__Secure-remex-oauth-example', path: '/oauth/example/callback', hostOnly: true },
    ...{ httpOnly: true, sameSite: 'Lax', secure: true },
  })
})

t.test('behind a proxy with TLS the cookie is secure (CSRF-2)', async (t) => {
  const app = await startAttackedApp(t, { server: { trustProxy: true } })
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'app.test' }
  const { setCookie, page } = await app.begin('/oauth/example', headers)
  t.match(setCookie, /^__Secure-remex-oauth-example=.*; Secure/)
  t.equal(page.searchParams.get('redirect_uri'), CALLBACK)
})

t.test('what a caller says of itself counts only from a proxy (CSRF-2)', async (t) => {
  const app = await startAttackedApp(t)
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'attacker.test' }
  const { page } = await app.begin('/oauth/example', headers)
  t.equal(page.searchParams.get('redirect_uri'), `${app.origin}/oauth/example/callback`)
})

t.test('a cookie that a browser would not keep begins no login (CSRF-2)', async (t) => {
  const app = await startAttackedApp(t)
  const { status, headers } = await app.send(`/oauth/example?lang=${'x'.repeat(4000)}`)
  t.strictSame(
    headers.getSetCookie().filter((one) => !one.includes('Max-Age=0')),
    [],
  )
  t.match(headers.get('location') ?? String(status), /error=The%20query%20and%20the%20token/)
})

t.test('the cookie goes when the login ends, and no cache keeps the answer (CSRF-2)', async (t) => {
  const app = await startAttackedApp(t)
  const [login, refused] = [await app.begin(), await app.begin()]
  const callback = `${refused.callback}&error=access_denied`
  for (const response of [await app.finish(login), await app.finish({ ...refused, callback })]) {
    const [removal = ''] = response.headers.getSetCookie()
    const { name, value, path } = parseSetCookie(removal, new URL(app.origin), 0)
    t.strictSame([name, value, path], ['remex-oauth-example', '', '/oauth/example/callback'])
    t.match(removal, /Max-Age=0/)
    t.equal(response.headers.get('cache-control'), 'no-store')
    t.equal(response.headers.get('referrer-policy'), 'no-referrer')
  }
})

function toFlow(redirectUri: string): Flow {
  const flow = { provider: 'apple', state: 's', nonce: null, verifier: 'v', redirectUri }
  return { ...flow, override: null, redirect: null, referer: null, accessToken: null, query: {} }
}

t.test('a provider that answers by a form gets a cookie that goes with it (CSRF-2)', async (t) => {
  const header = await storeFlow(toFlow(CALLBACK), [SECRET], true)
  t.match(header, /; HttpOnly; Secure; SameSite=None$/)
})

t.test('no path of a caller adds attributes to the cookie (CSRF-2)', async (t) => {
  const url = 'https://app.test/x;Domain=app.test;SameSite=None/oauth/apple/callback'
  const removal = removeFlow(toFlow(url))
  const { hostOnly, path, sameSite } = parseSetCookie(removal, new URL(url), 0)
  t.strictSame([hostOnly, sameSite], [true, 'Lax'])
  t.equal(path, '/x%3BDomain=app.test%3BSameSite=None/oauth/apple/callback')
})

t.test('a cookie whose name has one byte more is another cookie (CSRF-2)', async (t) => {
  const [cookie = ''] = storeFlow(toFlow(CALLBACK), [SECRET], false)?.split(';') ?? []
  const [name, value] = cookie.split('=')
  const isFound = (given: string): boolean => {
    try {
      return readFlow('apple', `a=b; ${given}=${value}`, [SECRET]).state === 's'
    } catch {
      return false
    }
  }
  // Node reads headers as Latin-1.
  const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte))
  t.strictSame(
    bytes.filter((byte) => isFound(`${byte}${name}`)),
    ['\t', ' ', ';'],
    'browsers strip two of them, and end the cookie before at the third',
  )
  t.strictSame(
    bytes.filter((byte) => isFound(`${name}${byte}`)),
    [],
  )
})

t.test('a flow and a login code are no access tokens, nor each other (JWT-14)', async (t) => {
  const app = await startAttackedApp(t, { section: { response: 'code' } })
  const login = await app.begin()
  const flow = login.cookie.split('=')[1] ?? ''
  const response = await app.finish(login)
  const { hash } = new URL(response.headers.get('location') ?? '', app.origin)
  const code = new URLSearchParams(hash.slice(1)).get('code') ?? ''
  for (const token of [flow, code]) t.equal((await app.getMe(token)).status, 401)
  const exchange = async (given: unknown, strategy = 'example') => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ strategy, code: given })
    return app.send('/authentication', { method: 'POST', headers, body })
  }
  const access = await app.authentication.createAccessToken({}, { subject: '1' })
  for (const wrong of [flow, access, '', 'x', {}, [code], 1, null, `${code}x`]) {
    t.equal((await exchange(wrong)).status, 401, JSON.stringify(wrong))
  }
  t.equal((await exchange(code, 'other')).status, 401, 'of another provider')
  const both = await Promise.all([exchange(code), exchange(code)])
  t.strictSame(both.map(({ status }) => status).sort(), [201, 401], 'once')
})
