import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import t from 'tap'
import type { ApiKeyService } from '../../../src/auth/api-keys/api-key.ts'
import { createSecret, findApiKey, formatApiKey } from '../../../src/auth/api-keys/api-key.ts'
import { NotFound, Unavailable } from '../../../src/core/index.ts'
import { hashString } from '../../../src/core/secrets/opaque-token.ts'

const ID = '0123456789abcdef01234567'
const secret = createSecret()
const key = formatApiKey({ prefix: 'acme', _id: ID }, secret)

/** Keeps the one key, and counts who looks for it. */
function createService(): ApiKeyService & { readonly asked: string[] } {
  const asked: string[] = []
  const get = async (id: string): Promise<object> => {
    asked.push(id)
    if (id !== ID) throw new NotFound()
    return { _id: ID, prefix: 'acme', secretHash: hashString(secret) }
  }
  return { asked, get } as unknown as ApiKeyService & { readonly asked: string[] }
}

/** Returns a text of the form of a key with the checksum that it should have. */
function withChecksum(text: string): string {
  return text + crc32(text).toString(36).padStart(7, '0')
}

t.test('a key has a prefix, its id, 256 random bits and a checksum', async (t) => {
  t.match(key, new RegExp(`^acme_${ID}_[0-9A-Za-z]{43}[0-9a-z]{7}$`))
  t.ok(62n ** 43n > 2n ** 256n)
  t.equal(withChecksum(key.slice(0, -7)), key)
  t.not(createSecret(), createSecret())
  t.equal(hashString(secret), createHash('sha256').update(secret).digest('base64url'))
})

t.test('its record is found, and no other', async (t) => {
  const service = createService()
  t.match(await findApiKey(key, service), { _id: ID })
  const head = key.slice(0, -7)
  const flipped = head.slice(0, -1) + (head.endsWith('a') ? 'b' : 'a')
  const wrong: [given: unknown, reason: RegExp, asks: boolean][] = [
    [withChecksum(flipped), /secret is wrong/, true],
    [withChecksum(head.replace('acme', 'acne')), /secret is wrong/, true],
    [withChecksum(head.replace(ID, ID.replace('7', '8'))), /removed, or never made/, true],
    [`${flipped}${key.slice(-7)}`, /checksum/, false],
    [key.toUpperCase(), /form/, false],
    [key.slice(0, -1), /form/, false],
    [`${key} `, /form/, false],
    [`${key}\n`, /form/, false],
    [`${key}, ${key}`, /form/, false],
    [head, /form/, false],
    ['', /form/, false],
    ['_'.repeat(1_000_000), /form/, false],
    [`a${'_0'.repeat(500_000)}`, /form/, false],
    [[key], /form/, false],
    [{ toString: () => key }, /form/, false],
    [{ $ne: null }, /form/, false],
    [null, /form/, false],
    [undefined, /form/, false],
    [7, /form/, false],
  ]
  for (const [given, reason, asks] of wrong) {
    const before = service.asked.length
    const refusal = { code: 401, message: 'Invalid API key', cause: { reason } }
    const title = String(JSON.stringify(given)).slice(0, 100)
    await t.rejects(findApiKey(given, service), refusal, title)
    t.equal(service.asked.length > before, asks, `${title} is looked up: ${asks}`)
  }
})

t.test('a database that fails says nothing of a key', async (t) => {
  const get = () => Promise.reject(new Unavailable('The database is away'))
  await t.rejects(findApiKey(key, { get } as unknown as ApiKeyService), { code: 503 })
})

t.test('a hook that removes the hash of a key is found out', async (t) => {
  const get = async () => ({ _id: ID, prefix: 'acme' })
  const service = { get } as unknown as ApiKeyService
  await t.rejects(findApiKey(key, service), { name: 'TypeError', message: /'secretHash'/ })
})
