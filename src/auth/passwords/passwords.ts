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
  /** A power of two; 128 times `blockSize` of it is the memory in bytes. Default: 131072 (2^17). */
  readonly cost?: number
  /** Default: 8. */
  readonly blockSize?: number
  /** Default: 1. */
  readonly parallelization?: number
  /**
   * How many hashes are computed at a time. Default: 2, or 1 where there are fewer than 4 cores or new
   * hashes are by bcrypt.
   */
  readonly concurrency?: number
  /** How many may wait; beyond, whoever has most of them is refused with 503. Default: 50. */
  readonly maxQueued?: number
}

/** What makes new hashes. */
export interface HashOptions {
  /** `'bcrypt'` is for packages that compare hashes by bcrypt themselves. Default: `'scrypt'`. */
  readonly hash?: 'scrypt' | 'bcrypt'
  /** The cost of new hashes by bcrypt, from 10 to 12. Default: 10. */
  readonly hashSize?: number
}

/** What came of checking a password. */
export interface PasswordVerdict {
  /** Whether the password is the one that was hashed. */
  readonly isCorrect: boolean
  /**
   * The stored hash was made in another way than the configured one, or with other parameters, and the
   * password may be hashed anew. From or to bcrypt it may not if it has more than 72 bytes: bcrypt
   * ignores the rest, so it was not checked, or would be no more.
   */
  readonly isOutdated: boolean
  /** What is stored is no hash that can be read. */
  readonly isMalformed: boolean
}

/** The first of the parameter sets that OWASP advises for scrypt. */
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
 * Hashes and checks passwords, a few at a time, on threads of their own. Hashes by bcrypt are the
 * exception: the library is plain JavaScript and computes on the main thread, in slices of 100 ms.
 */
export class Passwords {
  readonly #cost: ScryptCost
  /** The cost of new hashes, `null` where they are by scrypt. */
  readonly #bcryptCost: number | null
  readonly #queue: WorkQueue
  /** No password has it, and it takes as long to check as any. */
  readonly #dummy: ScryptHash

  /**
   * @param owner how errors name the options: `the setting 'authentication.local.scrypt'`
   * @throws {TypeError} an unknown option, or parameters that scrypt or bcrypt can't take
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
        `${owner}: scrypt can not take these parameters: 'cost' is a power of two, 'parallelization' is at most ${MAX_PARALLELIZATION}, and the memory of 128 * cost * blockSize bytes is at most 512 MiB`,
      )
    }
    this.#bcryptCost = isScrypt ? null : hashSize
    this.#queue = new WorkQueue(concurrency, maxQueued)
    const [salt, key] = [randomBytes(SALT_BYTES), randomBytes(KEY_BYTES)]
    this.#dummy = { ...this.#cost, salt, key }
  }

  /**
   * Checks what is to become a password.
   * @throws {BadRequest} it is no non-empty string, has more than 1,024 bytes, or more than bcrypt reads
   *   where it is to be hashed by bcrypt
   */
  check(password: unknown): asserts password is string {
    checkPassword(password)
    if (this.#bcryptCost === null || !bcrypt.truncates(password)) return
    throw new BadRequest('A password has at most 72 bytes')
  }

  /**
   * Returns the hash of a password as a string: by scrypt in PHC format, by bcrypt in its own.
   * @param replaced the outdated hash of the same password: its digest becomes the salt of the new hash
   * @throws {BadRequest} as {@link check}
   * @throws {Unavailable} too many are waiting, and no other caller has more of them
   */
  async hash(password: unknown, turn: Turn = {}, replaced: string = ''): Promise<string> {
    this.check(password)
    // The digest is as unique as the old hash. One without a salt is the same for everybody with this password.
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
   * Checks a password against a stored hash. It takes the same time when there is no hash, when the
   * stored value can't be read, and when the hash is a cheaper one: as much as checking one that would
   * be made today. Checks come before hashes.
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
    // As much as for a hash of today. Otherwise the time of the answer would tell that the user has a
    // cheaper hash, or none.
    const waste = async (): Promise<boolean> => {
      if (this.#bcryptCost === null) return matchesScrypt(password, this.#dummy)
      for (const dummy of createBcryptDummies(this.#bcryptCost, bcryptCost)) {
        await bcrypt.compare(password, dummy)
      }
      return false
    }
    const checkBesideWaste = async (): Promise<boolean> => {
      // What may be by scrypt begins first: it has a thread of its own, and bcrypt blocks the main one.
      const works = this.#bcryptCost === null ? [waste, check] : [check, waste]
      const results = works.map((work) => work())
      // The answer waits for both, also where one fails.
      await Promise.allSettled(results)
      const verdicts = await Promise.all(results)
      return verdicts[works.indexOf(check)] === true
    }
    const work = isCurrent ? check : checkBesideWaste
    const isCorrect = await this.#queue.run(work, { ...turn, isUrgent: true })
    // What stands behind the 72 bytes that bcrypt reads was not checked: it may be mistyped.
    const isCut = (this.#bcryptCost ?? bcryptCost) !== null && bcrypt.truncates(password)
    return {
      isCorrect,
      isOutdated: isKnown && !isCurrent && !isCut,
      isMalformed: !isKnown && storedHash !== '',
    }
  }
}

/** @throws {BadRequest} it is no non-empty string, or has more than 1,024 bytes */
export function checkPassword(password: unknown): asserts password is string {
  if (!isNonEmptyString(password)) {
    throw new BadRequest('A password must be a non-empty string')
  }
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
    throw new BadRequest(`A password has at most ${MAX_PASSWORD_BYTES} bytes`)
  }
}
