import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcryptjs'
import { BadRequest } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, withDefaults } from '../../core/options/option-check.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { AUTH_OPTION } from '../settings-values.ts'
import type { Turn } from '../work-queue.ts'
import { WorkQueue } from '../work-queue.ts'
import type { ScryptCost, ScryptHash } from './password-hash.ts'
import {
  createBcryptDummies,
  deriveScryptKey,
  digestHash,
  formatBcryptSalt,
  formatCost,
  formatScryptHash,
  isScryptCost,
  KEY_BYTES,
  MAX_PARALLELIZATION,
  matchesScrypt,
  parseScryptHash,
  readBcryptCost,
  readSalt,
  SALT_BYTES,
} from './password-hash.ts'

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
  cost: AUTH_OPTION.positiveInteger,
  blockSize: AUTH_OPTION.positiveInteger,
  parallelization: AUTH_OPTION.positiveInteger,
  concurrency: AUTH_OPTION.positiveInteger,
  maxQueued: AUTH_OPTION.positiveInteger,
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
      throw new TypeError(`${owner}: the option '${unused}' is for scrypt, and 'hash' is '${hash}'`)
    }
    this.#cost = withDefaults(OWASP_COST, cost)
    if (!isScryptCost(this.#cost)) {
      throw new TypeError(
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
    throw new BadRequest('A password has at most 72 bytes')
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
    throw new BadRequest('A password must be a non-empty string')
  }
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
    throw new BadRequest(`A password has at most ${MAX_PASSWORD_BYTES} bytes`)
  }
}
