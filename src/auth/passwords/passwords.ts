import { availableParallelism } from 'node:os'
import bcrypt from 'bcryptjs'
import { BadRequest } from '../../core/index.ts'
import type { OptionRule } from '../../core/option-check.ts'
import { checkOptions, withDefaults } from '../../core/option-check.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { AUTH_OPTION } from '../option-rules.ts'
import type { Turn } from '../work-queue.ts'
import { WorkQueue } from '../work-queue.ts'
import type { ScryptCost, ScryptHash } from './scrypt-hash.ts'
import {
  createDummyHash,
  formatScryptHash,
  hashByScrypt,
  isSameCost,
  isScryptCost,
  MAX_PARALLELIZATION,
  matchesScrypt,
  parseScryptHash,
} from './scrypt-hash.ts'

/** The setting `scrypt` of the local strategy. */
export interface PasswordOptions extends Partial<ScryptCost> {
  /** A power of two; 128 times `blockSize` of it is the memory in bytes. Default: 131072 (2^17). */
  readonly cost?: number
  /** Default: 8. */
  readonly blockSize?: number
  /** Default: 1. */
  readonly parallelization?: number
  /**
   * How many hashes are computed at a time. Default: 2, or 1 where there are fewer than 4 cores.
   */
  readonly concurrency?: number
  /** How many may wait; beyond, whoever has most of them is refused with 503. Default: 50. */
  readonly maxQueued?: number
}

/** What came of checking a password. */
export interface PasswordVerdict {
  /** Whether the password is the one that was hashed. */
  readonly isCorrect: boolean
  /**
   * The stored hash was made with other parameters than the configured ones, or by bcrypt, and the
   * password may be hashed anew. After bcrypt it may not if it has more than 72 bytes: bcrypt
   * ignores the rest, so it was not checked.
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

const MAX_PASSWORD_BYTES = 1024

/** Hashes of Feathers and others. Costs above 15 are refused: each step doubles the time. */
const BCRYPT_HASH = /^\$2[aby]\$(?:0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/

/**
 * Hashes and checks passwords, a few at a time, on threads of their own. Hashes by bcrypt are the
 * exception: the library is plain JavaScript and computes on the main thread, in slices of 100 ms.
 */
export class Passwords {
  readonly #cost: ScryptCost
  readonly #queue: WorkQueue
  readonly #dummy: ScryptHash

  /**
   * @param owner how errors name the options: `the setting 'authentication.local.scrypt'`
   * @throws {TypeError} an unknown option, or parameters that scrypt can't take
   */
  constructor(options: PasswordOptions, owner: string) {
    checkOptions(owner, options, RULES)
    const { concurrency = availableParallelism() < 4 ? 1 : 2, maxQueued = 50, ...cost } = options
    this.#cost = withDefaults(OWASP_COST, cost)
    if (!isScryptCost(this.#cost)) {
      throw new TypeError(
        `${owner}: scrypt can not take these parameters: 'cost' is a power of two, 'parallelization' is at most ${MAX_PARALLELIZATION}, and the memory of 128 * cost * blockSize bytes is at most 512 MiB`,
      )
    }
    this.#queue = new WorkQueue(concurrency, maxQueued)
    this.#dummy = createDummyHash(this.#cost)
  }

  /**
   * Returns the hash of a password as a string in PHC format.
   * @throws {BadRequest} the password is empty, longer than 1,024 bytes, or no string
   * @throws {Unavailable} too many are waiting, and no other caller has more of them
   */
  async hash(password: unknown, turn: Turn = {}): Promise<string> {
    checkPassword(password)
    const hash = await this.#queue.run(() => hashByScrypt(password, this.#cost), turn)
    return formatScryptHash(hash)
  }

  /**
   * Checks a password against a stored hash. It takes the same time when there is no hash, when the
   * stored value can't be read, and when the hash is a cheaper one: scrypt with the configured
   * parameters is computed in any case. Checks come before hashes.
   * @throws {Unavailable} too many are waiting, and no other caller has more of them
   */
  async verify(password: string, stored: unknown, turn: Turn = {}): Promise<PasswordVerdict> {
    const urgent = { ...turn, isUrgent: true }
    const storedHash = typeof stored === 'string' ? stored : ''
    if (BCRYPT_HASH.test(storedHash)) {
      const check = () => bcrypt.compare(password, storedHash)
      const isCorrect = await this.#queue.run(() => this.#checkBesideDummy(password, check), urgent)
      // What stands behind the 72 bytes that bcrypt reads was not checked: it may be mistyped.
      return { isCorrect, isOutdated: !bcrypt.truncates(password), isMalformed: false }
    }
    const hash = parseScryptHash(storedHash)
    const isOutdated = hash !== null && !isSameCost(hash, this.#cost)
    const matches = await this.#queue.run(() => {
      const check = () => matchesScrypt(password, hash ?? this.#dummy)
      return isOutdated ? this.#checkBesideDummy(password, check) : check()
    }, urgent)
    return {
      isCorrect: matches && hash !== null,
      isOutdated,
      isMalformed: hash === null && storedHash !== '',
    }
  }

  /**
   * Checks a password while a hash with the configured parameters is computed. Otherwise the time
   * of the answer would tell that the user has a cheaper hash.
   */
  async #checkBesideDummy(password: string, check: () => Promise<boolean>): Promise<boolean> {
    // Begun first, as scrypt has a thread of its own, and bcrypt blocks the main one.
    const dummy = matchesScrypt(password, this.#dummy)
    const settled = await Promise.allSettled([begin(check), dummy])
    for (const result of settled) {
      if (result.status === 'rejected') throw result.reason
    }
    return (settled[0] as PromiseFulfilledResult<boolean>).value
  }
}

/** Calls a function; an error that it throws before it returns a promise is a rejection too. */
async function begin<T>(work: () => Promise<T>): Promise<T> {
  return work()
}

/** @throws {BadRequest} it is no non-empty string, or has more than 1,024 bytes */
export function checkPassword(password: unknown): asserts password is string {
  if (!isNonEmptyString(password)) {
    throw new BadRequest('A password must be a non-empty string')
  }
  checkPasswordLength(password)
}

/** @throws {BadRequest} the password has more than 1,024 bytes */
export function checkPasswordLength(password: string): void {
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) {
    throw new BadRequest(`A password has at most ${MAX_PASSWORD_BYTES} bytes`)
  }
}
