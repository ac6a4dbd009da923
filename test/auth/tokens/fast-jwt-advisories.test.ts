import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { createVerifier } from 'fast-jwt'
import t from 'tap'
import { AUDIENCE, createLoginApp, ISSUER, now } from '../login-app.ts'

// One test for each advisory of fast-jwt, with the first version that has the correction. Those of the
// library itself guard its version; tokens of Remex could not be forged by most of them, since their
// algorithm is pinned and shared secrets are verified by node:crypto.

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PKCS1 = RSA.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString()
const SPKI = RSA.publicKey.export({ type: 'spki', format: 'pem' }).toString()
const PRIVATE = RSA.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

const toSegment = (value: object): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

/** Returns a token that is signed with a text, as who knows only a public key can sign one. */
function signByText(key: string, claims: object = { sub: 'admin' }): string {
  const input = `${toSegment({ alg: 'HS256', typ: 'JWT' })}.${toSegment(claims)}`
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
}

/** Returns a token with the signature of the private key. */
function signByKey(header: object, claims: object): string {
  const input = `${toSegment({ alg: 'RS256', ...header })}.${toSegment(claims)}`
  return `${input}.${sign('sha256', Buffer.from(input), RSA.privateKey).toString('base64url')}`
}

/** Whether a verifier can be made of a key, and takes a token that is signed with the text of it. */
function isForged(key: string): boolean {
  try {
    createVerifier({ key })(signByText(key))
    return true
  } catch {
    return false
  }
}

const CONFUSIONS: readonly (readonly [advisory: string, key: string])[] = [
  ['CVE-2023-48223 (4.0.0): a public key of PKCS #1', PKCS1],
  ['CVE-2026-34950 (6.2.0): a space before a public key', ` ${PKCS1}`],
  ['CVE-2026-34950 (6.2.0): a line break before a public key', `\n${SPKI}`],
  ['GHSA-ww5h-9m49-7xx4 (6.3.0): a zero-width space before a public key', `\u200b${SPKI}`],
  ['GHSA-ww5h-9m49-7xx4 (6.3.0): a comment before a public key', `# key\n${PKCS1}`],
  [
    'GHSA-g3jj-5cmm-3hxx (6.3.0): a public JSON Web Key',
    JSON.stringify(RSA.publicKey.export({ format: 'jwk' })),
  ],
]

for (const [advisory, key] of CONFUSIONS) {
  t.test(`${advisory} is no shared secret (JWT-2)`, async (t) => {
    t.notOk(isForged(key))
  })
}

t.test('CVE-2025-30144 (5.0.6): a list of issuers is no issuer (JWT-11)', async (t) => {
  const verify = createVerifier({ key: SPKI, algorithms: ['RS256'], allowedIss: 'https://valid' })
  const claims = { iss: ['https://attacker', 'https://valid'] }
  t.throws(() => verify(signByKey({}, claims)))
  t.match(verify(signByKey({}, { iss: 'https://valid' })), { iss: 'https://valid' })
})

t.test('CVE-2026-35042 (6.2.0): refuses extensions that it does not know (JWT-7)', async (t) => {
  const verify = createVerifier({ key: SPKI, algorithms: ['RS256'] })
  for (const crit of [['x'], [], ['alg']]) {
    t.throws(() => verify(signByKey({ crit, x: 1 }, { sub: '1' })), JSON.stringify(crit))
  }
})

t.test('CVE-2026-44351 (6.2.4): an empty key of a function is none', async (t) => {
  const verify = createVerifier({ key: async () => '' })
  await t.rejects(async () => verify(signByText('')))
})

t.test('an empty key beside an algorithm is none (6.3.1) (JWT-1)', async (t) => {
  t.throws(() => createVerifier({ key: '', algorithms: ['HS256'] }))
})

t.test('GHSA-3j8v-cgw4-2g6q (6.2.1): expressions with state decide alike each time', async (t) => {
  const verify = createVerifier({ key: SPKI, algorithms: ['RS256'], allowedAud: /^valid/g })
  const token = signByKey({}, { aud: 'valid' })
  for (let time = 1; time <= 3; time += 1) t.match(verify(token), { aud: 'valid' }, `time ${time}`)
})

t.test('CVE-2026-35039, CVE-2026-35041 (6.2.1): warns of what can not be corrected', async (t) => {
  const codes: unknown[] = []
  const note = (warning: { readonly code?: string }): unknown => codes.push(warning.code)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  // Remex uses neither the cache nor expressions of the library.
  const cacheKeyBuilder = () => 'the same for all'
  createVerifier({ key: SPKI, cache: true, cacheKeyBuilder, allowedAud: /^(a+)+$/ })
  // They are emitted later in this turn.
  await new Promise(setImmediate)
  t.strictSame(codes, ['FAST_JWT_UNSAFE_REGEXP', 'FAST_JWT_CACHE_KEY_BUILDER_SECURITY_RISK'])
})

/** What Remex signs and verifies by a key pair, which is the library's part. */
async function startWithKeys() {
  const settings = { secret: PRIVATE, jwtOptions: { algorithm: 'RS256' } }
  const { authentication } = createLoginApp({ settings })
  await authentication.setup()
  return authentication
}

const iat = now()
const CLAIMS = { iat, exp: iat + 60, aud: AUDIENCE, iss: ISSUER, sub: '1', jti: 'a' }

t.test('with a key pair, tokens with extensions are refused (JWT-7)', async (t) => {
  const authentication = await startWithKeys()
  const typ = 'access'
  t.match(await authentication.verifyAccessToken(signByKey({ typ }, CLAIMS)), { sub: '1' })
  for (const crit of [['x'], [], ['alg'], ['b64'], [1], 'x']) {
    const token = signByKey({ typ, crit, x: 1, b64: false }, CLAIMS)
    await t.rejects(authentication.verifyAccessToken(token), { code: 401 }, JSON.stringify(crit))
  }
})

t.test('with a key pair, lists of issuers are refused (JWT-11)', async (t) => {
  const authentication = await startWithKeys()
  for (const iss of [[ISSUER], ['https://attacker', ISSUER], { 0: ISSUER }]) {
    const token = signByKey({ typ: 'access' }, { ...CLAIMS, iss })
    await t.rejects(authentication.verifyAccessToken(token), { code: 401 }, JSON.stringify(iss))
  }
})

t.test('with a key pair, unsigned tokens are refused (JWT-1)', async (t) => {
  const authentication = await startWithKeys()
  const [, payload, signature] = signByKey({}, CLAIMS).split('.')
  for (const alg of ['none', 'None', '', 'HS256', undefined]) {
    for (const end of ['', signature]) {
      const token = `${toSegment({ alg, typ: 'access' })}.${payload}.${end}`
      await t.rejects(authentication.verifyAccessToken(token), { code: 401 }, `${alg} ${end}`)
    }
  }
})
