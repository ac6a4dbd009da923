import type { KeyObject } from 'node:crypto'
import { createHash, createHmac, createPrivateKey, createPublicKey } from 'node:crypto'
import { SettingError } from '../../core/errors/setup-errors.ts'
import { MIN_SECRET_BYTES } from '../../core/secrets/secret.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'

/** The algorithms that tokens can be signed with. A service uses one of them. */
export const ALGORITHMS = [
  'HS256',
  'HS384',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

/** One of the algorithms that tokens can be signed with. */
export type Algorithm = (typeof ALGORITHMS)[number]

/** One key of the setting `secret`, ready for signing and verifying. */
export interface TokenKey {
  /** Identifies the key in the header of a token, without revealing anything about it. */
  readonly kid: string
  /** The secret, or the private key as PEM; `null` for a public key, which only verifies. */
  readonly signing: string | null
  /** The secret or the public key as PEM. */
  readonly verifying: string
}

/** The first key signs. */
type TokenKeys = [TokenKey & { readonly signing: string }, ...TokenKey[]]

const MIN_RSA_BITS = 2048

/** The kind of key that an algorithm needs: a key type of Node, with the curve for some. */
const KEY_KINDS: Readonly<Record<string, string>> = {
  ES256: 'ec prime256v1',
  ES384: 'ec secp384r1',
  ES512: 'ec secp521r1',
  EdDSA: 'ed25519',
}

/**
 * Returns the keys for the setting `secret`: one key, or a list whose first key signs and all verify.
 * @param name how errors name the setting, `'authentication.secret'`
 * @throws {TypeError} there is no key, or one is too short or of the wrong kind for the algorithm
 */
export function readTokenKeys(secret: unknown, algorithm: Algorithm, name: string): TokenKeys {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  const readKey = algorithm.startsWith('HS') ? readSecretKey : readKeyPair
  const keys = secrets.map((one, index) => {
    const place = Array.isArray(secret) ? `${name}[${index}]` : name
    if (!isNonEmptyString(one)) throw new SettingError(`'${place}' must be a non-empty string`)
    return readKey(one, algorithm, place)
  })
  if (keys[0]?.signing == null) {
    throw new SettingError(
      `'${name}' must begin with a key that can sign: a public key only verifies`,
    )
  }
  return keys as TokenKeys
}

function readSecretKey(secret: string, algorithm: Algorithm, name: string): TokenKey {
  // If a public key were used as a secret, anyone who knows it could sign tokens.
  const isJsonWebKey = /^\s*[[{]/.test(secret) && /"kty"\s*:/.test(secret)
  if (/-----BEGIN [A-Z0-9 ]+-----/.test(secret) || isJsonWebKey) {
    throw new SettingError(
      `'${name}' holds a key of another algorithm: ${algorithm} takes a secret string`,
    )
  }
  const bytes = Buffer.byteLength(secret)
  if (bytes < MIN_SECRET_BYTES) {
    throw new SettingError(
      `'${name}' has ${bytes} bytes: at least ${MIN_SECRET_BYTES} are needed to withstand guessing`,
    )
  }
  const kid = createHmac('sha256', secret).update('remex kid').digest('base64url').slice(0, 10)
  return { kid, signing: secret, verifying: secret }
}

function readKeyPair(pem: string, algorithm: Algorithm, name: string): TokenKey {
  const isPrivate = /-----BEGIN (?:RSA |EC )?PRIVATE KEY-----/.test(pem)
  let publicKey: KeyObject
  try {
    publicKey = createPublicKey(isPrivate ? createPrivateKey(pem) : pem)
  } catch (cause) {
    throw new SettingError(`'${name}' is not a key in PEM format, as ${algorithm} requires`, {
      cause,
    })
  }
  checkKeyKind(publicKey, algorithm, name)
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return {
    kid: createHash('sha256').update(der).digest('base64url').slice(0, 10),
    signing: isPrivate ? pem : null,
    verifying: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  }
}

function checkKeyKind(key: KeyObject, algorithm: Algorithm, name: string): void {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  const kind = [key.asymmetricKeyType, namedCurve].filter(Boolean).join(' ')
  const expected = KEY_KINDS[algorithm] ?? 'rsa'
  if (kind !== expected) {
    throw new SettingError(`'${name}' is a key of kind ${kind}: ${algorithm} takes ${expected}`)
  }
  if (expected === 'rsa' && modulusLength < MIN_RSA_BITS) {
    throw new SettingError(`'${name}' has ${modulusLength} bits: RSA needs ${MIN_RSA_BITS}`)
  }
}
