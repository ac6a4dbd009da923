import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { CompactSign, decodeProtectedHeader } from 'jose'
import t from 'tap'
import {
  AUDIENCE,
  atTime,
  createLoginApp,
  forge,
  ISSUER,
  now,
  SECRET,
  startLoginApp,
} from '../login-app.ts'

const REFUSED = { name: 'NotAuthenticated', code: 401 }
const KEY = new TextEncoder().encode(SECRET)

const toSegment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token with any header and payload, signed as the service would. */
function signByHand(header: unknown, payload: unknown): string {
  const input = `${toSegment(header)}.${typeof payload === 'string' ? payload : toSegment(payload)}`
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}

t.test('creates tokens with the documented header and claims', async (t) => {
  const { authentication } = await startLoginApp()
  const token = await authentication.createAccessToken({ role: 'x' }, { subject: '7' })
  t.strictSame(decodeProtectedHeader(token), { alg: 'HS256', typ: 'access' })
  const payload = await authentication.verifyAccessToken(token)
  t.strictSame(Object.keys(payload), ['role', 'iat', 'exp', 'aud', 'iss', 'sub', 'jti'])
  t.match(payload, { role: 'x', aud: AUDIENCE, iss: ISSUER, sub: '7', exp: payload.iat + 86_400 })
  t.match(payload.jti, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
})

t.test('lets options of a call replace those of the settings', async (t) => {
  const { authentication } = await startLoginApp()
  const options = { subject: '7', jwtid: 'one', expiresIn: '2h', audience: 'other', issuer: 'me' }
  const token = await authentication.createAccessToken({}, options)
  await t.rejects(authentication.verifyAccessToken(token), REFUSED)
  const { audience, issuer } = options
  const payload = await authentication.verifyAccessToken(token, { audience, issuer })
  t.match(payload, { sub: '7', jti: 'one', aud: 'other', iss: 'me', exp: payload.iat + 7200 })
  const expected = { audience, issuer, subject: '8' }
  await t.rejects(authentication.verifyAccessToken(token, expected), { message: /subject/ })
  const secret = 'another secret, which is long enough too'
  const other = await authentication.createAccessToken({}, { subject: '7' }, secret)
  await t.rejects(authentication.verifyAccessToken(other), { message: 'invalid signature' })
  t.match(await authentication.verifyAccessToken(other, undefined, secret), { sub: '7' })
})

t.test('a subject that is null is none, as one that is left out', async (t) => {
  const { authentication } = await startLoginApp()
  for (const options of [{}, { subject: null as never }]) {
    const creating = authentication.createAccessToken({}, options)
    await t.rejects(creating, { name: 'TypeError', message: /jwt sub claim is required/ })
  }
})

t.test('accepts a token that another library made by the same rules', async (t) => {
  const { authentication } = await startLoginApp()
  t.match(await authentication.verifyAccessToken(await forge()), { sub: '1' })
  const audiences = await forge({ claims: { aud: ['other', AUDIENCE] } })
  t.match(await authentication.verifyAccessToken(audiences), { sub: '1' })
})

t.test('says why a token is refused, as clients know it', async (t) => {
  const { authentication } = await startLoginApp()
  const exp = now() - 1
  const cases: [title: string, token: unknown, message: string, data: object][] = [
    ['nothing', '', 'jwt must be provided', { name: 'JsonWebTokenError' }],
    ['no text', 7, 'jwt must be a string', { name: 'JsonWebTokenError' }],
    ['no token', 'abc', 'jwt malformed', { name: 'JsonWebTokenError' }],
    ['another secret', await forge({ secret: 'x'.repeat(40) }), 'invalid signature', {}],
    [
      'expired',
      await forge({ claims: { exp } }),
      'jwt expired',
      { name: 'TokenExpiredError', expiredAt: new Date(exp * 1000).toISOString() },
    ],
  ]
  for (const [title, token, message, data] of cases) {
    await t.rejects(authentication.verifyAccessToken(token), { ...REFUSED, message, data }, title)
  }
})

t.test('refuses unsigned tokens, however they spell it (JWT-1)', async (t) => {
  const { authentication } = await startLoginApp()
  const [, payload = '', signature = ''] = (await forge()).split('.')
  for (const alg of ['none', 'None', 'nOnE', 'NONE', '', undefined, null, 'HS384', 'HS512']) {
    for (const end of ['', signature]) {
      const token = `${toSegment({ alg, typ: 'access' })}.${payload}.${end}`
      await t.rejects(authentication.verifyAccessToken(token), REFUSED, `alg ${alg} '${end}'`)
    }
  }
})

t.test('neither reads keys from the header nor fetches them (JWT-6)', async (t) => {
  const { authentication } = await startLoginApp()
  const jwk = { kty: 'oct', k: Buffer.from('y'.repeat(40)).toString('base64url') }
  for (const header of [{ jwk }, { jku: 'http://127.0.0.1:1/' }, { x5u: 'http://127.0.0.1:1/' }]) {
    const forged = await forge({ header, secret: 'y'.repeat(40) })
    await t.rejects(authentication.verifyAccessToken(forged), { message: 'invalid signature' })
    t.match(await authentication.verifyAccessToken(await forge({ header })), { sub: '1' })
  }
})

t.test('refuses extensions that it must understand and does not (JWT-7)', async (t) => {
  const { authentication } = await startLoginApp()
  const claims = { iat: now(), exp: now() + 60, aud: AUDIENCE, iss: ISSUER, sub: '1', jti: 'a' }
  for (const crit of [['x'], [], ['alg'], ['x', 'x'], ['b64'], [1], 'x', { x: 1 }]) {
    const token = signByHand({ alg: 'HS256', typ: 'access', crit, x: 1, b64: false }, claims)
    await t.rejects(authentication.verifyAccessToken(token), REFUSED, JSON.stringify(crit))
  }
})

t.test('refuses a payload that is no object (JWT-8)', async (t) => {
  const { authentication } = await startLoginApp()
  for (const payload of [[], [{ sub: 1 }], 'text', 1, null, true]) {
    const token = await new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
      .setProtectedHeader({ alg: 'HS256', typ: 'access' })
      .sign(KEY)
    await t.rejects(authentication.verifyAccessToken(token), REFUSED, JSON.stringify(payload))
  }
})

t.test('refuses a token without any one of the required claims (JWT-10)', async (t) => {
  const { authentication } = await startLoginApp()
  for (const claim of ['exp', 'iat', 'sub', 'aud', 'iss', 'jti']) {
    const token = await forge({ claims: { [claim]: undefined } })
    await t.rejects(authentication.verifyAccessToken(token), REFUSED, claim)
  }
})

t.test('refuses claims of another type (JWT-11)', async (t) => {
  const { authentication } = await startLoginApp()
  const times = ['"1e3"', 'null', '"x"', '1e400', '1e300', '-1', '1.5', '{}', '[1]', 'true']
  const texts = ['{"$ne":null}', '["1"]', '1', 'null', '""', 'true']
  const cases = [
    ...['exp', 'nbf', 'iat'].flatMap((name) => times.map((value) => [name, value] as const)),
    ...['sub', 'jti', 'iss'].flatMap((name) => texts.map((value) => [name, value] as const)),
    ...['sub', 'jti'].map((name) => [name, '"\\ud800"'] as const),
    ...['[]', '[1]', '{}', 'null', '[["a"]]'].map((value) => ['aud', value] as const),
  ]
  const base = { iat: now(), exp: now() + 60, aud: AUDIENCE, iss: ISSUER, sub: '1', jti: 'a' }
  for (const [name, value] of cases) {
    const text = JSON.stringify({ ...base, [name]: 'HERE' }).replace('"HERE"', value)
    const payload = Buffer.from(text).toString('base64url')
    const token = signByHand({ alg: 'HS256', typ: 'access' }, payload)
    await t.rejects(authentication.verifyAccessToken(token), REFUSED, `${name} ${value}`)
  }
  const eternal = await forge({ claims: { exp: now() + 366 * 86_400 } })
  await t.rejects(authentication.verifyAccessToken(eternal), { message: /lifetime/ })
})

t.test('is exact about expiry and lenient about clocks that run ahead (JWT-13)', async (t) => {
  const { authentication } = await startLoginApp()
  const start = now()
  const cases: [claims: Record<string, number>, isAccepted: boolean][] = [
    [{ exp: start - 1 }, false],
    [{ exp: start }, false],
    [{ exp: start + 1 }, true],
    [{ nbf: start + 31 }, false],
    [{ nbf: start + 30 }, true],
    [{ iat: start + 31 }, false],
    [{ iat: start + 30 }, true],
  ]
  for (const [claims, isAccepted] of cases) {
    const token = await forge({ claims })
    const verified = atTime(start * 1000, () => authentication.verifyAccessToken(token))
    if (isAccepted) await t.resolves(verified, JSON.stringify(claims))
    else await t.rejects(verified, REFUSED, JSON.stringify(claims))
  }
})

t.test('accepts clocks within the configured tolerance, for each time claim (CLK-1)', async (t) => {
  const { authentication } = await startLoginApp({
    settings: { jwtOptions: { clockTolerance: 30 } },
  })
  const start = now()
  for (const skew of [-60, -29, 0, 29, 60]) {
    for (const claims of [
      { exp: start + skew },
      { nbf: start - skew },
      { iat: start - skew, exp: start + 600 },
    ]) {
      const token = await forge({ claims })
      const verified = atTime(start * 1000, () => authentication.verifyAccessToken(token))
      const title = JSON.stringify({ skew, ...claims })
      if (skew >= -29) await t.resolves(verified, title)
      else await t.rejects(verified, REFUSED, title)
    }
  }
})

t.test('refuses tokens that were made for something else (JWT-14)', async (t) => {
  const { authentication } = await startLoginApp()
  for (const typ of ['refresh', 'verify-email', 'reset-password', 'oauth-state', 'JWT', '', null]) {
    const token = signByHand(
      { alg: 'HS256', typ },
      { iat: now(), exp: now() + 60, aud: AUDIENCE, iss: ISSUER, sub: '1', jti: 'a' },
    )
    await t.rejects(authentication.verifyAccessToken(token), REFUSED, String(typ))
  }
  const untyped = await forge({ header: { typ: undefined } })
  await t.rejects(authentication.verifyAccessToken(untyped), REFUSED, 'no typ')
})

t.test('rotates keys without a restart (JWT-18)', async (t) => {
  const { app, authentication } = await startLoginApp()
  const newSecret = 'the new secret of the tests, long enough as well'
  const replace = (secret: unknown) =>
    app.set('authentication', { ...(app.get('authentication') as object), secret })
  const before = await authentication.createAccessToken({}, { subject: '1' })
  replace([newSecret, SECRET])
  const after = await authentication.createAccessToken({}, { subject: '1' })
  t.type(decodeProtectedHeader(after).kid, 'string', 'of several keys, the token names its own')
  await t.resolves(authentication.verifyAccessToken(before))
  await t.resolves(authentication.verifyAccessToken(after))
  const foreign = await forge({ header: { kid: 'unknown' } })
  await t.rejects(authentication.verifyAccessToken(foreign), { message: 'unknown key' })
  replace(newSecret)
  await t.rejects(authentication.verifyAccessToken(before), REFUSED)
  await t.resolves(authentication.verifyAccessToken(after))
})

t.test('tokens may live as long as expiresIn says without a maxLifetime (JWT-11)', async (t) => {
  const { authentication } = await startLoginApp({
    settings: { jwtOptions: { expiresIn: '730d' } },
  })
  const token = await authentication.createAccessToken({}, { subject: '1' })
  const { exp, iat } = await authentication.verifyAccessToken(token)
  t.equal(exp - iat, 730 * 86_400)
})

t.test('signs an expired token for a call that asks for it, and refuses it (JWT-11)', async (t) => {
  const { authentication } = await startLoginApp()
  for (const expiresIn of [0, -1, '-1h']) {
    const token = await authentication.createAccessToken({}, { subject: '1', expiresIn })
    await t.rejects(authentication.verifyAccessToken(token), { code: 401, message: 'jwt expired' })
  }
})

t.test('does not sign what it would refuse (JWT-11)', async (t) => {
  const { authentication } = await startLoginApp()
  const cases: [payload: object, options: object | undefined, message: RegExp][] = [
    [{}, { subject: '1', expiresIn: '800d' }, /expiresIn' is longer than .*maxLifetime' allows/],
    [{ sub: { a: 1 } }, undefined, /would be rejected: invalid sub value/],
    [{ nbf: 'soon' }, { subject: '1' }, /would be rejected: invalid nbf value/],
    [{}, { subject: '\ud800' }, /would be rejected: invalid sub value/],
    [{}, { subject: 7 }, /would be rejected: invalid sub value/],
    [{}, undefined, /would be rejected: jwt sub claim is required/],
  ]
  for (const [payload, options, message] of cases) {
    const signing = authentication.createAccessToken(payload, options)
    await t.rejects(signing, { name: 'TypeError', message }, String(message))
  }
  const options = { subject: '1', expiresIn: '800d', maxLifetime: '800d' }
  const long = await authentication.createAccessToken({}, options)
  await t.rejects(authentication.verifyAccessToken(long), REFUSED)
  await t.resolves(authentication.verifyAccessToken(long, { maxLifetime: '800d' }))
})

t.test('says which service a token is of, whatever the payload claims (JWT-15)', async (t) => {
  const { authentication } = await startLoginApp()
  const payload = { auth_service: 'adminAuthentication', sub: '1' }
  const token = await authentication.createAccessToken(payload)
  t.notOk('auth_service' in (await authentication.verifyAccessToken(token)))
})

t.test('knows only one text for each token (JWT-20)', async (t) => {
  const { authentication } = await startLoginApp()
  const token = await forge()
  await authentication.verifyAccessToken(token)
  const [header = '', payload = '', signature = ''] = token.split('.')
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(signature.at(-1) ?? '')
  const twins = [1, 2, 3].map((bits) => `${token.slice(0, -1)}${alphabet[last ^ bits]}`)
  const others = [
    ...[`${token}=`, `${token}\n`, ` ${token}`, `${token}.`, `.${token}`, `${token}%`],
    `${header.toLowerCase()}.${payload}.${signature}`,
    `${header}=.${payload}.${signature}`,
    `${header}.${payload}.${signature.replace(/[-_]/g, '+')}+`,
  ]
  for (const altered of [...twins, ...others]) {
    await t.rejects(authentication.verifyAccessToken(altered), REFUSED, altered.slice(-8))
  }
})

t.test('refuses whatever is changed in a token (JWT-20)', async (t) => {
  const { authentication } = await startLoginApp()
  const token = await forge()
  const change = fc.tuple(fc.nat(token.length - 1), fc.constantFrom(...'AZaz09-_.=+/ \n'))
  await fc.assert(
    fc.asyncProperty(change, async ([index, character]) => {
      const changed = token.slice(0, index) + character + token.slice(index + 1)
      if (changed === token) return
      await t.rejects(authentication.verifyAccessToken(changed), REFUSED)
    }),
    { numRuns: 300 },
  )
})

t.test('gives a payload that nobody can change (JWT-21)', async (t) => {
  const { authentication } = await startLoginApp()
  const token = await forge({ claims: { roles: ['user'], deep: { list: [] } } })
  const payload = await authentication.verifyAccessToken(token)
  t.throws(() => (payload['roles'] as string[]).push('admin'), TypeError)
  t.throws(() => Object.assign(payload['deep'] as object, { admin: true }), TypeError)
  t.strictSame((await authentication.verifyAccessToken(token))['roles'], ['user'])
})

t.test('sees that a token has expired since it was verified (JWT-22)', async (t) => {
  const { authentication } = await startLoginApp()
  const token = await forge({ claims: { exp: now() + 60 } })
  await t.resolves(authentication.verifyAccessToken(token))
  const later = (now() + 61) * 1000
  await t.rejects(
    atTime(later, () => authentication.verifyAccessToken(token)),
    { message: 'jwt expired' },
  )
})

t.test('tells tokens apart that begin the same way (JWT-23)', async (t) => {
  const { authentication } = await startLoginApp()
  const claims = { padding: 'x'.repeat(2000) }
  const one = await forge({ claims: { ...claims, sub: '1' } })
  const other = await forge({ claims: { ...claims, sub: '2' } })
  for (const [token, sub] of [
    [one, '1'],
    [other, '2'],
    [one, '1'],
  ] as const) {
    t.equal((await authentication.verifyAccessToken(token)).sub, sub)
  }
})

t.test('verifies a token anew when the list of verified ones is switched off', async (t) => {
  const { authentication } = await startLoginApp({ settings: { jwtOptions: { cacheSize: 0 } } })
  const token = await forge()
  await t.resolves(authentication.verifyAccessToken(token))
  await t.resolves(authentication.verifyAccessToken(token))
})

t.test('a service without entity needs no subject', async (t) => {
  const { authentication } = createLoginApp({ settings: { entity: null } })
  await authentication.setup()
  const token = await forge({ claims: { sub: undefined } })
  t.match(await authentication.verifyAccessToken(token), { aud: AUDIENCE })
})

t.test('refuses a token longer than any header can be, unread', async (t) => {
  const { authentication } = await startLoginApp()
  const token = await forge({ claims: { padding: 'x'.repeat(9000) } })
  await t.rejects(authentication.verifyAccessToken(token), { message: 'jwt malformed' })
})
