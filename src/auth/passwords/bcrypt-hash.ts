import { randomBytes } from 'node:crypto'
import bcrypt from 'bcryptjs'

/** Hashes from Feathers and other systems. Costs above 15 are rejected: each step doubles the time. */
const BCRYPT_HASH = /^\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/

/** The number of key bytes in a bcrypt hash. */
const KEY_BYTES = 23

/** Returns the cost of a bcrypt hash, `null` for any other string and for costs above 15. */
export function readBcryptCost(hash: string): number | null {
  const [, cost] = BCRYPT_HASH.exec(hash) ?? []
  return cost === undefined ? null : Number(cost)
}

/** Returns a salt in the form that `bcrypt.hash()` takes: `$2b$10$<salt>`. */
export function formatBcryptSalt(salt: Buffer, cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${bcrypt.encodeBase64(salt, salt.length)}`
}

/**
 * Returns hashes that no password matches and that take as long to check as one of this cost. Together with a cheaper
 * hash that is checked, they take as long: each step doubles the work, so one hash of each cost in between makes up the
 * difference.
 * @param checked the cost of the hash that is checked, `null` if there is none
 */
export function createBcryptDummies(cost: number, checked: number | null): string[] {
  if (checked === null) return [createDummy(cost)]
  const missing = Math.max(0, cost - checked)
  return Array.from({ length: missing }, (_, step) => createDummy(checked + step))
}

function createDummy(cost: number): string {
  return bcrypt.genSaltSync(cost) + bcrypt.encodeBase64(randomBytes(KEY_BYTES), KEY_BYTES)
}
