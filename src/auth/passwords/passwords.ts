import type { ScryptOptions } from 'node:crypto'
import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import bcrypt from 'bcryptjs'
import { InvalidPassword } from '../../core/errors/coded-errors.ts'
import { OptionError } from '../../core/errors/setup-errors.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { Turn } from '../work-queue.ts'
import { WorkQueue } from '../work-queue.ts'
import { createBcryptDummies, formatBcryptSalt, readBcryptCost } from './bcrypt-hash.ts'

/** The setting `scrypt` of the local strategy. */
export interface PasswordOptions {
  /** A power of two; the memory in bytes is 128 × `cost` × `blockSize`. Default: 131072 (2^17). */
  readonly cost?: number
  /** Default: 8. */
  readonly blockSize?: number
  /** Default: 1. */
  readonly parallelization?: number
  /** How many hashes are computed at a time. Default: 2, or 1 with fewer than 4 cores or with bcrypt for new hashes. */
  readonly concurrency?: number
  /** How many may wait. Beyond that, a task of the caller with the most is rejected with 503. Default: 50. */
  readonly maxQueued?: number
}

/** The algorithm for new hashes. */
export interface HashOptions {
  /** `'bcrypt'` is for packages that compare bcrypt hashes themselves. Default: `'scrypt'`. */
  readonly hash?: 'scrypt' | 'bcrypt'
  /** The cost of new bcrypt hashes, from 10 to 12. Default: 10. */
  readonly hashSize?: number
}

/** The result of checking a password. */
export interface PasswordVerdict {
  /** Whether the password matches the hash. */
  readonly isCorrect: boolean
  /**
   * Whether the password should be hashed again, as the stored hash uses another algorithm or other parameters than
   * configured. False when moving from or to bcrypt with a password of more than 72 bytes: bcrypt ignores the rest, so
   * it was not checked, or would no longer be checked.
   */
  readonly isOutdated: boolean
  /** Whether the stored value is not a readable hash. */
  readonly isMalformed: boolean
}

/** The first parameter set that OWASP recommends for scrypt. */
const OWASP_COST: ScryptCost = { cost: 2 ** 17, blockSize: 8, parallelization: 1 }

const RULES: Readonly<Record<keyof PasswordOptions, OptionRule>> = {
  cost: OPTION.positiveInteger,
  blockSize: OPTION.positiveInteger,
  parallelization: OPTION.positiveInteger,
  concurrency: OPTION.positiveInteger,
  maxQueued: OPTION.positiveInteger,
}

/** The rules for {@link HashOptions}. */
export const HASH_RULES: Readonly<Record<keyof HashOptions, OptionRule>> = {
  hash: {
    expected: "'scrypt' or 'bcrypt'",
    isValid: (value) => value === 'scrypt' || value === 'bcrypt',
  },
  hashSize: {
    expected: 'a whole number from 10 to 12',
    isValid: (value) => Number.isInteger(value) && Number(value) >= 10 && Number(value) <= 12,
  },
}

const MAX_PASSWORD_BYTES = 1024

/**
 * Hashes and checks passwords, a few at a time, on worker threads. bcrypt is the exception: the library is plain
 * JavaScript and runs on the main thread, in slices of 100 ms.
 */
export class Passwords {
  readonly #cost: ScryptCost
  /** The cost of new hashes, `null` with scrypt. */
  readonly #bcryptCost: number | null
  readonly #queue: WorkQueue
  /** A hash that matches no password and takes as long to check as any. */
  readonly #dummy: ScryptHash

  /**
   * @param owner how errors name the options: `the setting 'authentication.local.scrypt'`
   * @throws {TypeError} an option is unknown, or scrypt or bcrypt cannot take the parameters
   */
  constructor(options: PasswordOptions, owner: string, hashOptions: HashOptions = {}) {
    checkOptions(owner, options, RULES)
    checkOptions(owner, hashOptions, HASH_RULES)
    const { hash = 'scrypt', hashSize = 10 } = hashOptions
    const isScrypt = hash === 'scrypt'
    const isThreaded = isScrypt && availableParallelism() >= 4
    const { concurrency = isThreaded ? 2 : 1, maxQueued = 50, ...cost } = options
    const [unused] = isScrypt ? [] : Object.keys(cost)
    if (unused !== undefined) {
      throw new OptionError(
        `${owner}: the option '${unused}' is for scrypt, and 'hash' is '${hash}'`,
      )
    }
    this.#cost = withDefaults(OWASP_COST, cost)
    if (!isScryptCost(this.#cost)) {
      throw new OptionError(
        `${owner}: scrypt cannot take these parameters: 'cost' is a power of two, 'parallelization' is at most ${MAX_PARALLELIZATION}, and the memory of 128 * cost * blockSize bytes is at most 512 MiB`,
      )
    }
    this.#bcryptCost = isScrypt ? null : hashSize
    this.#queue = new WorkQueue(concurrency, maxQueued)
    const [salt, key] = [randomBytes(SALT_BYTES), randomBytes(KEY_BYTES)]
    this.#dummy = { ...this.#cost, salt, key }
  }

  /**
   * Checks a new password.
   * @throws {BadRequest} it is not a non-empty string, has more than 1,024 bytes, or exceeds what bcrypt reads if
   *   bcrypt is to hash it
   */
  check(password: unknown): asserts password is string {
    checkPassword(password)
    if (this.#bcryptCost === null || !bcrypt.truncates(password)) return
    throw new InvalidPassword('A password has at most 72 bytes')
  }

  /**
   * Returns the hash of a password as a string: scrypt in PHC format, bcrypt in its own format.
   * @param replaced the outdated hash of the same password: its digest becomes the salt of the new hash
   * @throws {BadRequest} as {@link check}
   * @throws {Unavailable} too many are waiting, and no other caller has more of them
   */
  async hash(password: unknown, turn: Turn = {}, replaced: string = ''): Promise<string> {
    this.check(password)
    // The digest is as unique as the old hash. A hash without a salt is the same for every user with this password.
    const salt = readSalt(replaced) === null ? randomBytes(SALT_BYTES) : digestHash(replaced)
    const cost = this.#bcryptCost
    if (cost !== null) {
      return this.#queue.run(() => bcrypt.hash(password, formatBcryptSalt(salt, cost)), turn)
    }
    const hash = { ...this.#cost, salt }
    const key = await this.#queue.run(() => deriveScryptKey(password, hash, KEY_BYTES), turn)
    return formatScryptHash({ ...hash, key })
  }

  /**
   * Checks a password against a stored hash. It always takes as long as checking a hash created today: also if there is
   * no hash, if the stored value is unreadable, or if the hash is cheaper. Checks come before hashes.
   * @throws {Unavailable} too many are waiting, and no other caller has more of them
   */
  async verify(password: string, stored: unknown, turn: Turn = {}): Promise<PasswordVerdict> {
    const storedHash = typeof stored === 'string' ? stored : ''
    const scrypt = parseScryptHash(storedHash)
    const bcryptCost = readBcryptCost(storedHash)
    const isKnown = scrypt !== null || bcryptCost !== null
    const isCurrent =
      this.#bcryptCost === null
        ? scrypt !== null && formatCost(scrypt) === formatCost(this.#cost)
        : this.#bcryptCost === bcryptCost
    const check = async (): Promise<boolean> => {
      if (scrypt !== null) return matchesScrypt(password, scrypt)
      return bcryptCost !== null && bcrypt.compare(password, storedHash)
    }
    // As much work as for a hash created today. Otherwise the response time would reveal that the user has a cheaper
    // hash, or none.
    const waste = async (): Promise<boolean> => {
      if (this.#bcryptCost === null) return matchesScrypt(password, this.#dummy)
      for (const dummy of createBcryptDummies(this.#bcryptCost, bcryptCost)) {
        await bcrypt.compare(password, dummy)
      }
      return false
    }
    const checkBesideWaste = async (): Promise<boolean> => {
      // The work that may be scrypt starts first: it has its own thread, while bcrypt blocks the main one.
      const works = this.#bcryptCost === null ? [waste, check] : [check, waste]
      const results = works.map((work) => work())
      // Waits for both, even if one fails.
      await Promise.allSettled(results)
      const verdicts = await Promise.all(results)
      return verdicts[works.indexOf(check)] === true
    }
    const work = isCurrent ? check : checkBesideWaste
    const isCorrect = await this.#queue.run(work, { ...turn, isUrgent: true })
    // Bytes after the 72 that bcrypt reads were not checked and may be mistyped.
    const isCut = (this.#bcryptCost ?? bcryptCost) !== null && bcrypt.truncates(password)
    return {
      isCorrect,
      isOutdated: isKnown && !isCurrent && !isCut,
      isMalformed: !isKnown && storedHash !== '',
    }
  }
}

/** @throws {BadRequest} it is not a non-empty string, or has more than 1,024 bytes */
export function checkPassword(password: unknown): asserts password is string {
  if (!isNonEmptyString(password)) {
    throw new InvalidPassword('A password must be a non-empty string')
  }
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
    throw new InvalidPassword(`A password has at most ${MAX_PASSWORD_BYTES} bytes`)
  }
}

/** The parameters of a hash, with the names of Node's `crypto.scrypt`. */
type ScryptCost = {
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
}

/** A password hash with everything needed to check a password against it. */
export interface ScryptHash extends ScryptCost {
  readonly salt: Buffer
  readonly key: Buffer
}

const SALT_BYTES = 16
const KEY_BYTES = 32

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

/** Returns the salt of a scrypt or bcrypt hash, `null` for any other string. */
function readSalt(hash: string): Buffer | null {
  if (readBcryptCost(hash) === null) return parseScryptHash(hash)?.salt ?? null
  return Buffer.from(bcrypt.decodeBase64(hash.slice(7, 29), SALT_BYTES))
}

/** Returns the digest of a stored hash, with the length of a salt. */
function digestHash(stored: string): Buffer {
  return createHash('sha256').update(`password ${stored}`).digest().subarray(0, SALT_BYTES)
}

/** Stored hashes with higher parameters are rejected: checking one could stop the server. */
const MAX_MEMORY_BYTES = 2 ** 29
const MAX_PARALLELIZATION = 16

const PHC_FORMAT =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** Returns whether a password has this hash, compared in constant time. */
async function matchesScrypt(password: string, hash: ScryptHash): Promise<boolean> {
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

function formatCost({ cost, blockSize, parallelization }: ScryptCost): string {
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
function isScryptCost({ cost, blockSize, parallelization }: ScryptCost): boolean {
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
