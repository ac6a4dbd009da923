import { randomBytes } from 'node:crypto'
import bcrypt from 'bcryptjs'

/** Hashes of Feathers and others. Costs above 15 are refused: each step doubles the time. */
const BCRYPT_HASH = /^\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/

const KEY_BYTES = 23

/** Returns the cost of a hash by bcrypt, `null` for any other string and for costs above 15. */
export function readBcryptCost(hash: string): number | null {
  const [, cost] = BCRYPT_HASH.exec(hash) ?? []
  return cost === undefined ? null : Number(cost)
}

/** Returns the hash of a password with a new salt. The work is done on the main thread, in slices. */
export function hashByBcrypt(password: string, cost: number): Promise<string> {
  return bcrypt.hash(password, cost)
}

/** Whether a password has this hash, as far as bcrypt reads it. */
export function matchesBcrypt(password: string, hash: string): Promise<boolean> {
  return bcrypt.compare(password, hash)
}

/** Whether a password has more than the 72 bytes that bcrypt reads. */
export function isCutByBcrypt(password: string): boolean {
  return bcrypt.truncates(password)
}

/**
 * Returns hashes that no password has and that take as long to check as one of this cost. Beside one of a
 * lower cost that is checked, they take the rest of that time: each step doubles the work, so one of each
 * cost in between is as much as is missing.
 * @param checked the cost of the hash that is checked, `null` for none
 */
export function createBcryptDummies(cost: number, checked: number | null): string[] {
  if (checked === null) return [createDummy(cost)]
  const missing = Math.max(0, cost - checked)
  return Array.from({ length: missing }, (_, step) => createDummy(checked + step))
}

function createDummy(cost: number): string {
  return bcrypt.genSaltSync(cost) + bcrypt.encodeBase64(randomBytes(KEY_BYTES), KEY_BYTES)
}
