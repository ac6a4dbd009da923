import { EncryptJWT, jwtDecrypt } from 'jose'
import t from 'tap'
import type { Authentication } from '../../../src/auth/authentication.ts'
import { getProfileId } from '../../../src/auth/oauth/provider/profile.ts'
import { ProviderAccess } from '../../../src/auth/oauth/provider-access.ts'
import { isProvenProfile, proveProfile } from '../../../src/auth/proof.ts'
import { openData, sealData } from '../../../src/auth/tokens/sealed-data.ts'
import { MemoryRevocationList } from '../../../src/auth/tokens/token-revocation.ts'
import { deriveKey } from '../../../src/core/secrets/secret.ts'
import { WRONG_IDS } from '../../support/oauth/bad-answers.ts'
import { atTime } from '../login-app.ts'

const SECRETS = [
  'the newest secret of thirty-two bytes',
  'an older secret of thirty-two bytes',
] as const
const DATA = { provider: 'github', nested: { list: [1, 'ü', null] } }

const seal = async ([secret = '']: readonly string[] = SECRETS) =>
  sealData('oauth-flow', DATA, deriveKey('oauth-flow', secret), 600)
const open = async (sealed: string, secrets: readonly string[] = SECRETS) =>
  openData('oauth-flow', sealed, secrets, 'Refused')

t.test('opens what was sealed by one of the secrets', async (t) => {
  t.match(await open(await seal()), DATA)
  t.match(await open(await seal([SECRETS[1]])), DATA, 'before the secret was replaced')
  t.not(await seal(), await seal(), 'no two are the same')
  await t.rejects(open(await seal(['another'])), { code: 401, message: 'Refused' })
})

t.test('what is sealed for one purpose opens for no other (JWT-14)', async (t) => {
  const code = sealData('oauth-code', DATA, deriveKey('oauth-code', SECRETS[0]), 600)
  await t.rejects(open(code), { code: 401 })
  const flow = await seal()
  t.throws(() => openData('oauth-code', flow, SECRETS, 'Refused'), { code: 401 })
})

t.test('has the form of an encrypted JWT, which jose reads and writes as well', async (t) => {
  const key = deriveKey('oauth-flow', SECRETS[0])
  const { payload, protectedHeader } = await jwtDecrypt(await seal(), key)
  t.match(payload, { ...DATA, iat: Number, exp: Number })
  t.strictSame(protectedHeader, { alg: 'dir', enc: 'A256GCM', typ: 'oauth-flow' })
  const header = { alg: 'dir', enc: 'A256GCM', typ: 'oauth-flow' }
  const byJose = new EncryptJWT(DATA).setProtectedHeader(header).setExpirationTime('10m')
  t.match(await open(await byJose.encrypt(key)), DATA)
  const forEver = new EncryptJWT(DATA).setProtectedHeader(header)
  await t.rejects(open(await forEver.encrypt(key)), { code: 401 }, 'without an end')
})

t.test('opens nothing that was changed by a single character (OAU-1)', async (t) => {
  const sealed = await seal()
  const parts = sealed.split('.')
  for (const [index, part] of parts.entries()) {
    // The last character of base64url has bits that stand for nothing.
    const changed = parts.with(
      index,
      part === '' ? 'A' : `${part.startsWith('A') ? 'B' : 'A'}${part.slice(1)}`,
    )
    await t.rejects(open(changed.join('.')), { code: 401 }, `part ${index}`)
    await t.rejects(open(parts.toSpliced(index, 1).join('.')), { code: 401 }, `no part ${index}`)
  }
  for (const text of ['', '.', '....', 'x', `${sealed}.`, sealed.slice(1), `${sealed}.A`]) {
    await t.rejects(open(text), { code: 401 }, JSON.stringify(text.slice(0, 9)))
  }
})

t.test('opens nothing that is too old (OAU-1)', async (t) => {
  const now = 1_800_000_000_000
  const sealed = await atTime(now, () => seal())
  t.match(await atTime(now + 599_999, () => open(sealed)), DATA)
  await t.rejects(
    atTime(now + 600_000, () => open(sealed)),
    { code: 401 },
  )
})

t.test('a login code counts once, for a minute, for its strategy (OAU-1)', async (t) => {
  const used = new MemoryRevocationList()
  const authentication = {
    configKey: 'authentication',
    configuration: { secret: SECRETS, jwtOptions: { algorithm: 'HS256' } },
    // Shared by all processes, and by both strategies.
    revocationList: {
      revoke: (id: string, expiresAt: Date) => used.revoke(id, expiresAt),
      isRevoked: (id: string) => used.isRevoked(id),
    },
  } as unknown as Authentication
  const github = new ProviderAccess(authentication, 'github')
  const google = new ProviderAccess(authentication, 'google')
  const now = 1_800_000_000_000
  const [code, other, late] = await atTime(now, () =>
    Promise.all([github.createCode('1'), github.createCode('1'), github.createCode('1')]),
  )
  const redeem = (text: string, at = now, access = github) =>
    atTime(at, () => access.redeemCode(text))
  t.equal(await redeem(code), '1')
  await t.rejects(redeem(code), { code: 401 })
  await t.rejects(redeem(other, now, google), { code: 401 })
  t.equal(await redeem(other), '1', 'a refusal uses no code up')
  await t.rejects(redeem(late, now + 60_000), { code: 401 })
})

t.test('a login code counts once, with a list for all processes or none (OAU-1)', async (t) => {
  const used = new Set<string>()
  const shared = {
    revoke: (id: string) => void used.add(id),
    isRevoked: (id: string) => used.has(id),
  }
  const createAccess = (revocationList: object | null) => {
    const configuration = { secret: SECRETS, jwtOptions: { algorithm: 'HS256' } }
    const authentication = { configKey: 'authentication', configuration, revocationList }
    return new ProviderAccess(authentication as unknown as Authentication, 'github')
  }
  const alone = createAccess(null)
  const code = await alone.createCode('1')
  t.equal(await alone.redeemCode(code), '1')
  await t.rejects(alone.redeemCode(code), { code: 401 }, 'noted in this process')
  const [one, other] = [createAccess(shared), createAccess(shared)]
  const sharedCode = await one.createCode('1')
  t.equal(await one.redeemCode(sharedCode), '1')
  await t.rejects(other.redeemCode(sharedCode), { code: 401 }, 'noted where all processes see it')
})

t.test('an id is a string or a whole number, and nothing else (OAU-5)', async (t) => {
  for (const [name, id] of Object.entries(WRONG_IDS)) {
    t.throws(() => getProfileId({ id }), { code: 401 }, `id: ${name}`)
    t.throws(() => getProfileId({ sub: id }), { code: 401 }, `sub: ${name}`)
  }
  for (const id of ['0', ' ', '583231', 'true', '{"$ne":1}', 0, 583_231, Number.MAX_SAFE_INTEGER]) {
    t.equal(getProfileId({ id }), id)
    t.equal(getProfileId({ sub: id, id: 'another' }), id)
  }
  for (const id of ['\ud800', 'a\udfff', '\udc00\ud800']) {
    t.throws(() => getProfileId({ id }), { code: 401 }, 'half of a character')
  }
  for (const id of [Number.NaN, Infinity, -1.5, 10n, Symbol('1'), new Date(), () => '1']) {
    t.throws(() => getProfileId({ id }), { code: 401 }, typeof id)
  }
})

t.test('only the very object that a provider has confirmed counts (FTH-12)', async (t) => {
  const profile = { sub: 'ann' }
  const proven = proveProfile(profile, 'github')
  t.ok(isProvenProfile(proven, 'github'))
  t.notOk(isProvenProfile(proven, 'google'), 'of another provider')
  for (const other of [
    profile,
    { ...proven },
    structuredClone(proven),
    Object.create(proven),
    null,
  ]) {
    t.notOk(isProvenProfile(other, 'github'))
  }
})
