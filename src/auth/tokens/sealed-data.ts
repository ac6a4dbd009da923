import { seal, unseal } from '../../core/secrets/sealing.ts'
import { deriveKey } from '../../core/secrets/secret.ts'
import { isObject } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'

/**
 * Returns data as a string that can be read or created only with the same secret: an encrypted JWT in compact form (RFC
 * 7516, `dir` with A256GCM).
 * @param purpose the string opens only for the same purpose
 * @param key 32 bytes, by {@link deriveKey} if it comes from a secret
 * @param lifetime seconds after which it no longer opens
 */
export function sealData(
  purpose: string,
  data: Record<string, unknown>,
  key: Uint8Array,
  lifetime: number,
): string {
  const iat = Math.floor(Date.now() / 1000)
  const header = toHeader(purpose)
  const claims = Buffer.from(JSON.stringify({ ...data, iat, exp: iat + lifetime }))
  const { nonce, text, tag } = seal(claims, key, Buffer.from(header))
  const parts = [nonce, text, tag].map((part) => Buffer.from(part).toString('base64url'))
  // The empty part is the encrypted key of other modes.
  return [header, '', ...parts].join('.')
}

/**
 * Returns the data that was sealed with one of the secrets.
 * @throws {NotAuthenticated} it was sealed with another secret, for another purpose, or has expired
 */
export function openData(
  purpose: string,
  sealed: string,
  secrets: readonly string[],
  message: string,
): Record<string, unknown> {
  const keys = secrets.map((secret) => deriveKey(purpose, secret))
  const found = findSealed(purpose, sealed, keys)
  if (typeof found === 'string') throw createRefusal(message, found)
  return found
}

/** Returns the sealed data, or the reason why it does not open. */
export function findSealed(
  purpose: string,
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
  if (!isWhole || !nonce || !text || !tag) return 'it has not the form of sealed data'
  if (header !== toHeader(purpose)) return 'it was sealed for something else'
  for (const key of keys) {
    const opened = unseal({ nonce, text, tag }, key, Buffer.from(header))
    const claims: unknown = opened === null ? null : JSON.parse(opened.toString())
    if (isObject(claims))
      return Number(claims['exp']) * 1000 > Date.now() ? claims : 'it is too old'
  }
  return 'none of the keys opens it'
}

function toHeader(purpose: string): string {
  const header = JSON.stringify({ alg: 'dir', enc: 'A256GCM', typ: purpose })
  return Buffer.from(header).toString('base64url')
}
