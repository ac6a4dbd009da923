import { createHash, randomBytes } from 'node:crypto'

const RANDOM_BYTES = 32

/** Returns 256 random bits as 43 characters of base64url. */
export function createRandom(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url')
}

/** Returns what is stored of a random token, its SHA-256 as base64url: 256 bits can not be guessed, so no slow hash is needed. */
export function hashToken(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
