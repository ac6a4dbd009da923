import { generateKeyPairSync } from 'node:crypto'
import { decodeProtectedHeader, importSPKI, jwtVerify } from 'jose'
import t from 'tap'
import { createLoginApp, forge, SECRET } from '../login-app.ts'

const pem = { type: 'spki', format: 'pem' } as const
const privatePem = { type: 'pkcs8', format: 'pem' } as const

function makePair(kind: 'rsa' | 'ec' | 'ed25519', option: number | string = '') {
  const pair =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: Number(option) })
      : kind === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: String(option) })
        : generateKeyPairSync('ed25519')
  return {
    publicKey: pair.publicKey.export(pem).toString(),
    privateKey: pair.privateKey.export(privatePem).toString(),
  }
}

const RSA = makePair('rsa', 2048)

function start(secret: unknown, algorithm = 'HS256') {
  const { authentication } = createLoginApp({ settings: { secret, jwtOptions: { algorithm } } })
  return authentication
}

t.test('signs by every kind of key, as another library verifies', async (t) => {
  const cases = [
    ['RS256', RSA],
    ['RS512', RSA],
    ['PS256', RSA],
    ['ES256', makePair('ec', 'P-256')],
    ['ES384', makePair('ec', 'P-384')],
    ['ES512', makePair('ec', 'P-521')],
    ['EdDSA', makePair('ed25519')],
  ] as const
  for (const [algorithm, { privateKey, publicKey }] of cases) {
    const authentication = start(privateKey, algorithm)
    await authentication.setup()
    const token = await authentication.createAccessToken({}, { subject: '1' })
    t.strictSame(decodeProtectedHeader(token), { alg: algorithm, typ: 'access' })
    const { payload } = await jwtVerify(token, await importSPKI(publicKey, algorithm))
    t.equal(payload.sub, '1', algorithm)
    t.match(await authentication.verifyAccessToken(token), { sub: '1' }, algorithm)
  }
})

t.test('accepts a public key in the place of an old one', async (t) => {
  const next = makePair('rsa', 2048)
  const old = start(RSA.privateKey, 'RS256')
  await old.setup()
  const token = await old.createAccessToken({}, { subject: '1' })
  const rotated = start([next.privateKey, RSA.publicKey], 'RS256')
  await rotated.setup()
  t.match(await rotated.verifyAccessToken(token), { sub: '1' })
})

t.test('refuses a token signed with the text of a public key (JWT-2)', async (t) => {
  const authentication = start(RSA.privateKey, 'RS256')
  await authentication.setup()
  for (const [before, after] of [
    ['', ''],
    [' ', ''],
    ['\n', '\n'],
    ['\u200b', ''],
    ['\x00', ''],
    ['# comment\n', ''],
  ]) {
    const forged = await forge({ secret: `${before}${RSA.publicKey}${after}` })
    await t.rejects(authentication.verifyAccessToken(forged), { code: 401 }, JSON.stringify(before))
  }
})

t.test('does not start with a key in the place of a secret (JWT-2)', async (t) => {
  const pgp = '-----BEGIN PGP PUBLIC KEY BLOCK-----\n'
  for (const before of ['', ' ', '\n', '\u200b', '\x00', '# comment\n', pgp]) {
    const authentication = start(`${before}${RSA.publicKey}`)
    await t.rejects(authentication.setup(), {
      name: 'TypeError',
      message: /authentication\.secret/,
    })
  }
  await t.rejects(start(RSA.privateKey).setup(), { message: /authentication\.secret/ })
})

t.test('does not start with a JSON Web Key in the place of a secret (JWT-3)', async (t) => {
  const key = { kty: 'RSA', n: 'x'.repeat(342), e: 'AQAB' }
  for (const value of [key, { keys: [key] }, [key]]) {
    const text = JSON.stringify(value)
    await t.rejects(start(text).setup(), { message: /authentication\.secret/ }, text.slice(0, 20))
  }
})

t.test('does not start without a secret of 32 bytes (JWT-4)', async (t) => {
  const cases: [secret: unknown, message: RegExp | string][] = [
    ['', /'authentication': the option 'secret' must be/],
    ['short', /'authentication\.secret' has 5 bytes: at least 32/],
    ['x'.repeat(31), /has 31 bytes/],
    [[SECRET, 'short'], /'authentication\.secret\[1\]' has 5 bytes/],
    [[], /'authentication': the option 'secret' must be/],
    [null, /'authentication': the option 'secret' must be/],
    [7, /'authentication': the option 'secret' must be/],
    [[null], /'authentication': the option 'secret' must be/],
  ]
  for (const [secret, message] of cases) {
    await t.rejects(start(secret).setup(), { name: 'TypeError', message }, JSON.stringify(secret))
  }
  await t.resolves(start('é'.repeat(16)).setup(), 'bytes are counted, not characters')
})

t.test('does not start with a key that does not fit the algorithm', async (t) => {
  const small = makePair('rsa', 1024)
  const p384 = makePair('ec', 'P-384')
  const cases: [secret: unknown, algorithm: string, message: RegExp][] = [
    [SECRET, 'RS256', /is not a key in PEM format/],
    [small.privateKey, 'RS256', /1024 bits/],
    [p384.privateKey, 'ES256', /secp384r1: ES256 takes ec prime256v1/],
    [RSA.privateKey, 'ES256', /kind rsa/],
    [RSA.privateKey, 'EdDSA', /kind rsa/],
    [RSA.publicKey, 'RS256', /begin with a key that can sign/],
    [SECRET, 'none', /'authentication\.jwtOptions': the option 'algorithm' must be one of HS256/],
    [SECRET, 'HS1', /must be one of/],
  ]
  for (const [secret, algorithm, message] of cases) {
    await t.rejects(start(secret, algorithm).setup(), { message }, `${algorithm} ${message}`)
  }
})

t.test('does not start with options for tokens that it does not take (JWT-17)', async (t) => {
  const cases: [jwtOptions: object, message: RegExp][] = [
    [{ audience: /x/g }, /jwtOptions': the option 'audience' must be/],
    [{ audience: [/^(a+)+$/] }, /jwtOptions': the option 'audience' must be/],
    [{ audience: [] }, /jwtOptions': the option 'audience' must be/],
    [{ issuer: /x/ }, /jwtOptions': the option 'issuer' must be/],
    [{ expiresIn: 'soon' }, /jwtOptions\.expiresIn/],
    [{ expiresIn: Number.POSITIVE_INFINITY }, /jwtOptions': the option 'expiresIn'/],
    [{ expiresIn: 0 }, /'authentication\.jwtOptions\.expiresIn' must be at least a second/],
    [{ expiresIn: -1 }, /jwtOptions\.expiresIn' must be at least a second/],
    [{ expiresIn: '-1d' }, /jwtOptions\.expiresIn' must be at least a second/],
    [{ expiresIn: '500ms' }, /jwtOptions\.expiresIn' must be at least a second/],
    [{ expiresIn: '2y', maxLifetime: '1y' }, /jwtOptions\.expiresIn.*maxLifetime/],
    [{ clockTolerance: -1 }, /jwtOptions': the option 'clockTolerance'/],
    [{ clockTolerance: Number.NaN }, /jwtOptions': the option 'clockTolerance'/],
    [{ header: { alg: 'none' } }, /jwtOptions': the option 'header'/],
    [{ header: { kid: 'x' } }, /jwtOptions': the option 'header'/],
    [{ header: { crit: ['b64'], b64: false } }, /jwtOptions': the option 'header'/],
    [{ ignoreExpiration: true }, /'authentication\.jwtOptions': unknown option 'ignoreExpiration'/],
    [{ issuedAt: 5 }, /'authentication\.jwtOptions': unknown option 'issuedAt'/],
    [{ algorithms: ['HS256', 'none'] }, /unknown option 'algorithms'; did you mean 'algorithm'/],
  ]
  for (const [jwtOptions, message] of cases) {
    const { authentication } = createLoginApp({ settings: { jwtOptions } })
    await t.rejects(authentication.setup(), { name: 'TypeError', message }, String(message))
  }
})
