import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import bcrypt from 'bcryptjs'

/** The parameters of a hash, by the names of Node's `crypto.scrypt`. */
export interface ScryptCost {
  /** A power of two: how much memory and time. */
  readonly cost: number
  readonly blockSize: number
  /** How many times the work is done, one after the other. */
  readonly parallelization: number
}

/** A password hash with all that is needed to check a password against it. */
export interface ScryptHash extends ScryptCost {
  readonly salt: Buffer
  readonly key: Buffer
}

const SALT_BYTES = 16
const KEY_BYTES = 32

/** Stored hashes with higher parameters are refused: checking one could stop the server. */
const MAX_MEMORY_BYTES = 2 ** 29
export const MAX_PARALLELIZATION = 16

const PHC_FORMAT =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** Returns the hash of a password with a new salt. The work is done on another thread. */
export async function hashByScrypt(password: string, cost: ScryptCost): Promise<ScryptHash> {
  const salt = randomBytes(SALT_BYTES)
  return { ...cost, salt, key: await deriveKey(password, salt, KEY_BYTES, cost) }
}

/** Whether a password has this hash, compared in constant time. */
export async function matchesScrypt(password: string, hash: ScryptHash): Promise<boolean> {
  return timingSafeEqual(await deriveKey(password, hash.salt, hash.key.length, hash), hash.key)
}

/** Returns a hash that no password has and that takes as long to check as any. */
export function createDummyHash(cost: ScryptCost): ScryptHash {
  return { ...cost, salt: randomBytes(SALT_BYTES), key: randomBytes(KEY_BYTES) }
}

/**
 * Returns a hash as a string in PHC format: `$scrypt$ln=17,r=8,p=1$<salt>$<key>`.
 * @see https://github.com/P-H-C/phc-string-format
 */
export function formatScryptHash(hash: ScryptHash): string {
  const { cost, blockSize, parallelization, salt, key } = hash
  const parameters = `ln=${Math.log2(cost)},r=${blockSize},p=${parallelization}`
  return ['', 'scrypt', parameters, encodeUnpadded(salt), encodeUnpadded(key)].join('$')
}

/** Returns the hash that a string in PHC format stands for, `null` for any other string. */
export function parseScryptHash(hash: string): ScryptHash | null {
  const match = PHC_FORMAT.exec(hash)
  if (match === null) return null
  const [, ln, r, p, salt = '', key = ''] = match
  const cost = { cost: 2 ** Number(ln), blockSize: Number(r), parallelization: Number(p) }
  if (!isScryptCost(cost)) return null
  return { ...cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') }
}

/** Whether scrypt can take these parameters, and they are within the limits for time and memory. */
export function isScryptCost({ cost, blockSize, parallelization }: ScryptCost): boolean {
  return (
    [cost, blockSize, parallelization].every((one) => Number.isInteger(one) && one >= 1) &&
    cost >= 2 &&
    Number.isInteger(Math.log2(cost)) &&
    parallelization <= MAX_PARALLELIZATION &&
    128 * cost * blockSize <= MAX_MEMORY_BYTES
  )
}

export function isSameCost(one: ScryptCost, other: ScryptCost): boolean {
  return (
    one.cost === other.cost &&
    one.blockSize === other.blockSize &&
    one.parallelization === other.parallelization
  )
}

function deriveKey(
  password: string,
  salt: Buffer,
  bytes: number,
  { cost, blockSize, parallelization }: ScryptCost,
): Promise<Buffer> {
  // A little more than the algorithm needs; Node's default limit is below what OWASP advises.
  const maxmem = 128 * blockSize * (cost + parallelization + 2) + 1024
  const options = { cost, blockSize, parallelization, maxmem }
  return new Promise((resolve, reject) => {
    scrypt(password, salt, bytes, options, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}

/** Returns Base64 without padding, as the PHC format demands. */
function encodeUnpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

/** Hashes of Feathers and others. Costs above 15 are refused: each step doubles the time. */
const BCRYPT_HASH = /^\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/

/** Bytes of the key in a hash by bcrypt. */
const BCRYPT_KEY_BYTES = 23

/** Returns the cost of a hash by bcrypt, `null` for any other string and for costs above 15. */
export function readBcryptCost(hash: string): number | null {
  const [, cost] = BCRYPT_HASH.exec(hash) ?? []
  return cost === undefined ? null : Number(cost)
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
  return (
    bcrypt.genSaltSync(cost) + bcrypt.encodeBase64(randomBytes(BCRYPT_KEY_BYTES), BCRYPT_KEY_BYTES)
  )
}
