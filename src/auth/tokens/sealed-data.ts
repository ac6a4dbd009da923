import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { isObject } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'

/** What sealed data is for: data that was sealed for one purpose opens for no other. */
export type SealPurpose = 'oauth-flow' | 'oauth-code' | 'session-successor'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Returns data as a string that only those with the same secret can read or make: an encrypted JWT in the compact
 * form (RFC 7516, `dir` with A256GCM).
 * @param key of 32 bytes, from {@link deriveKey} where it comes from a secret
 * @param lifetime seconds after which it does not open any more
 */
export function sealData(
  purpose: SealPurpose,
  data: Record<string, unknown>,
  key: Uint8Array,
  lifetime: number,
): string {
  const iat = Math.floor(Date.now() / 1000)
  const nonce = randomBytes(NONCE_BYTES)
  const header = toHeader(purpose)
  const cipher = createCipheriv(CIPHER, key, nonce)
  cipher.setAAD(Buffer.from(header))
  const claims = JSON.stringify({ ...data, iat, exp: iat + lifetime })
  const sealed = Buffer.concat([cipher.update(claims, 'utf8'), cipher.final()])
  const parts = [nonce, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'))
  // Between header and nonce there is a key in other modes.
  return [header, '', ...parts].join('.')
}

/**
 * Returns the data that was sealed by one of the secrets.
 * @throws {NotAuthenticated} it was sealed by somebody else, for another purpose or too long ago
 */
export function openData(
  purpose: SealPurpose,
  sealed: string,
  secrets: readonly string[],
  message: string,
): Record<string, unknown> {
  const keys = secrets.map((secret) => deriveKey(purpose, secret))
  const found = findSealed(purpose, sealed, keys)
  if (typeof found === 'string') throw createRefusal(message, found)
  return found
}

/** Returns the data that was sealed, or why it does not open. */
export function findSealed(
  purpose: SealPurpose,
  sealed: string,
  keys: readonly Uint8Array[],
): Record<string, unknown> | string {
  const [header = '', wrappedKey, ...encoded] = sealed.split('.')
  const parts = encoded.map((part) => Buffer.from(part, 'base64url'))
  const [nonce, text, tag] = parts
  const isWhole =
    wrappedKey === '' &&
    parts.length === 3 &&
    parts.every((part, index) => part.toString('base64url') === encoded[index])
  if (!isWhole || nonce?.length !== NONCE_BYTES || tag?.length !== TAG_BYTES || !text) {
    return 'it has not the form of sealed data'
  }
  if (header !== toHeader(purpose)) return 'it was sealed for something else'
  for (const key of keys) {
    const claims = decrypt({ header, nonce, text, tag }, key)
    if (claims !== null) return Number(claims['exp']) * 1000 > Date.now() ? claims : 'it is too old'
  }
  return 'none of the keys opens it'
}

interface SealedParts {
  readonly header: string
  readonly nonce: Buffer
  readonly text: Buffer
  readonly tag: Buffer
}

/** Returns the claims, `null` where another key has sealed them, or somebody has changed them. */
function decrypt(
  { header, nonce, text, tag }: SealedParts,
  key: Uint8Array,
): Record<string, unknown> | null {
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(header)).setAuthTag(tag)
  try {
    const claims: unknown = JSON.parse(
      decipher.update(text, undefined, 'utf8') + decipher.final('utf8'),
    )
    return isObject(claims) ? claims : null
  } catch {
    // The key, or what it is to open, is another one: the caller refuses it.
    return null
  }
}

function toHeader(purpose: SealPurpose): string {
  const header = JSON.stringify({ alg: 'dir', enc: 'A256GCM', typ: purpose })
  return Buffer.from(header).toString('base64url')
}

/** Returns a key of its own for each purpose (HKDF, 32 bytes), so that none of them is the secret itself. */
export function deriveKey(purpose: string, secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `remex ${purpose}`, KEY_BYTES))
}
