import { createHash, randomBytes } from 'node:crypto'

const RANDOM_BYTES = 32

/** Returns 256 random bits as 43 characters of base64url. */
export function createRandom(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url')
}

/**
 * Returns the SHA-256 of a string as base64url. Random tokens are stored in this form: 256 random bits cannot be
 * guessed, so no slow hash is needed.
 */
export function hashString(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
