import { hash, hkdfSync } from 'node:crypto'
import type { OptionRule } from '../options/option-rules.ts'
import { isNonEmptyString } from '../value-kind.ts'

/** The length of an HS256 digest: shorter secrets can be guessed. @see RFC 7518 §3.2 */
export const MIN_SECRET_BYTES = 32

const KEY_BYTES = 32

/** The rule of an option that takes a secret. */
export const SECRET_OPTION: OptionRule = {
  expected: `a string of at least ${MIN_SECRET_BYTES} bytes`,
  isValid: (value) => typeof value === 'string' && Buffer.byteLength(value) >= MIN_SECRET_BYTES,
}

/**
 * Returns the secrets of a setting, which is one or a list. Public keys and certificates in PEM format are left out,
 * since they are not secret.
 */
export function listSecrets(setting: unknown): string[] {
  return [setting]
    .flat()
    .filter(isNonEmptyString)
    .filter((text) => !text.includes('-----BEGIN ') || text.includes('PRIVATE KEY-----'))
}

/** Returns a separate key for each purpose (HKDF, 32 bytes), so that none is the secret itself. */
export function deriveKey(purpose: string, secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `remex ${purpose}`, KEY_BYTES))
}

/** Returns a separate key for each purpose (SHA-256). Meant for keys derived in each call: HKDF takes too long there. */
export function hashToKey(purpose: string, secret: string): Uint8Array {
  return hash('sha256', `remex ${purpose}\0${secret}`, 'buffer')
}
