import type { ScryptOptions } from 'node:crypto'
import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import bcrypt from 'bcryptjs'

/** The parameters of a hash, with the names of Node's `crypto.scrypt`. */
export type ScryptCost = {
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
}

/** A password hash with everything needed to check a password against it. */
export interface ScryptHash extends ScryptCost {
  readonly salt: Buffer
  readonly key: Buffer
}

export const SALT_BYTES = 16
export const KEY_BYTES = 32

/**
 * Returns the identifiers of a stored hash: its digest, and its salt. The salt is the digest of the outdated hash of
 * the same password that this hash has replaced; otherwise it is random and identifies nothing.
 */
export function nameHash(stored: unknown): readonly string[] {
  const hash = String(stored ?? '')
  const salt = readSalt(hash)
  const names = salt === null ? [digestHash(hash)] : [digestHash(hash), salt]
  return names.map((name) => name.toString('base64url'))
}

/** Returns the digest of a stored hash, with the length of a salt. */
export function digestHash(stored: string): Buffer {
  return createHash('sha256').update(`password ${stored}`).digest().subarray(0, SALT_BYTES)
}

/** Stored hashes with higher parameters are rejected: checking one could stop the server. */
const MAX_MEMORY_BYTES = 2 ** 29
export const MAX_PARALLELIZATION = 16

const PHC_FORMAT =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** Returns whether a password has this hash, compared in constant time. */
export async function matchesScrypt(password: string, hash: ScryptHash): Promise<boolean> {
  return timingSafeEqual(await deriveScryptKey(password, hash, hash.key.length), hash.key)
}

/**
 * Returns a hash as a string in PHC format: `$scrypt$ln=17,r=8,p=1$<salt>$<key>`.
 * @see https://github.com/P-H-C/phc-string-format
 */
export function formatScryptHash(hash: ScryptHash): string {
  const [salt, key] = [hash.salt, hash.key].map((bytes) =>
    bytes.toString('base64').replaceAll('=', ''),
  )
  return ['', 'scrypt', formatCost(hash), salt, key].join('$')
}

export function formatCost({ cost, blockSize, parallelization }: ScryptCost): string {
  return `ln=${Math.log2(cost)},r=${blockSize},p=${parallelization}`
}

/** Returns the hash that a string in PHC format encodes, `null` for any other string. */
export function parseScryptHash(hash: string): ScryptHash | null {
  const match = PHC_FORMAT.exec(hash)
  if (match === null) return null
  const [, ln, r, p, salt = '', key = ''] = match
  const cost = { cost: 2 ** Number(ln), blockSize: Number(r), parallelization: Number(p) }
  if (!isScryptCost(cost)) return null
  return { ...cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') }
}

/** Returns whether scrypt accepts these parameters, and they are within the limits on time and memory. */
export function isScryptCost({ cost, blockSize, parallelization }: ScryptCost): boolean {
  return (
    [cost, blockSize, parallelization].every((one) => Number.isInteger(one) && one >= 1) &&
    cost >= 2 &&
    Number.isInteger(Math.log2(cost)) &&
    parallelization <= MAX_PARALLELIZATION &&
    128 * cost * blockSize <= MAX_MEMORY_BYTES
  )
}

const scryptOnThread = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** Resolves to the key of a password. @param bytes the length of the key */
export function deriveScryptKey(
  password: string,
  { cost, blockSize, parallelization, salt }: Omit<ScryptHash, 'key'>,
  bytes: number,
): Promise<Buffer> {
  // Slightly more than the algorithm needs; Node's default limit is below what OWASP recommends.
  const maxmem = 128 * blockSize * (cost + parallelization + 2) + 1024
  return scryptOnThread(password, salt, bytes, { cost, blockSize, parallelization, maxmem })
}

/** Hashes from Feathers and other systems. Costs above 15 are rejected: each step doubles the time. */
const BCRYPT_HASH = /^\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/

/** The number of key bytes in a bcrypt hash. */
const BCRYPT_KEY_BYTES = 23

/** Returns the cost of a bcrypt hash, `null` for any other string and for costs above 15. */
export function readBcryptCost(hash: string): number | null {
  const [, cost] = BCRYPT_HASH.exec(hash) ?? []
  return cost === undefined ? null : Number(cost)
}

/** Returns the salt of a scrypt or bcrypt hash, `null` for any other string. */
export function readSalt(hash: string): Buffer | null {
  if (readBcryptCost(hash) === null) return parseScryptHash(hash)?.salt ?? null
  return Buffer.from(bcrypt.decodeBase64(hash.slice(7, 29), SALT_BYTES))
}

/** Returns a salt in the form that `bcrypt.hash()` takes: `$2b$10$<salt>`. */
export function formatBcryptSalt(salt: Buffer, cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${bcrypt.encodeBase64(salt, SALT_BYTES)}`
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
  return (
    bcrypt.genSaltSync(cost) + bcrypt.encodeBase64(randomBytes(BCRYPT_KEY_BYTES), BCRYPT_KEY_BYTES)
  )
}
