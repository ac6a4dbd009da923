import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
export const NONCE_BYTES = 12
export const TAG_BYTES = 16

/** Encrypted data, which cannot be read or changed without its key. */
export interface Sealed {
  readonly nonce: Uint8Array
  readonly text: Uint8Array
  readonly tag: Uint8Array
}

/**
 * Encrypts data (AES-256-GCM).
 * @param key of 32 bytes
 * @param bound the purpose of the data: it opens only with the same value
 */
export function seal(data: Uint8Array, key: Uint8Array, bound: Uint8Array): Sealed {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(bound)
  const text = Buffer.concat([cipher.update(data), cipher.final()])
  return { nonce, text, tag: cipher.getAuthTag() }
}

/** Returns the sealed data; `null` if it was sealed with another key, for another purpose, or was changed. */
export function unseal(
  { nonce, text, tag }: Sealed,
  key: Uint8Array,
  bound: Uint8Array,
): Buffer | null {
  if (nonce.length !== NONCE_BYTES || tag.length !== TAG_BYTES) return null
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(bound).setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(text), decipher.final()])
  } catch {
    return null
  }
}
