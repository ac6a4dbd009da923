import { createHash } from 'node:crypto'
import type { Logger } from '../../core/index.ts'
import { ServiceError, TooManyRequests } from '../../core/index.ts'
import type { OptionRules } from '../../core/option-check.ts'
import { checkOptions } from '../../core/option-check.ts'
import { toNetwork } from '../network-address.ts'
import { AUTH_OPTION, hasMethods } from '../option-rules.ts'
import { LoginTurns } from './login-turns.ts'
import type { Counter, ThrottleStore } from './throttle-store.ts'
import { MemoryThrottleStore } from './throttle-store.ts'

/** The setting `loginThrottle`. */
export interface LoginThrottleOptions {
  /** Failing logins of one account in one window. Default: 10. */
  readonly maxAttempts?: number
  /**
   * Failing logins from one address in one window, and as many again for the accounts that have
   * logged in from there before. Default: three times `maxAttempts`.
   */
  readonly maxAttemptsPerAddress?: number
  /** Default: 60. */
  readonly windowSeconds?: number
  /** How long an address is known after a login from there. Default: 30. */
  readonly knownAddressDays?: number
  /** Default: the memory of this process, at most 10,000 accounts and as many addresses. */
  readonly store?: ThrottleStore
}

/** A login that is being checked. It is counted as a failing one until it has succeeded. */
export interface LoginAttempt {
  /** To be called when the login went well: it is no longer counted. */
  succeed(): Promise<void>
  /** To be called when the login could not be checked: it is no longer counted. */
  cancel(): Promise<void>
}

/** What a login may bring along. */
interface LoginOptions {
  readonly logger?: Pick<Logger, 'error'>
  readonly signal?: AbortSignal | undefined
}

/** The rules for {@link LoginThrottleOptions}. */
export const THROTTLE_RULES: OptionRules = {
  maxAttempts: AUTH_OPTION.positiveInteger,
  maxAttemptsPerAddress: AUTH_OPTION.positiveInteger,
  windowSeconds: AUTH_OPTION.positiveNumber,
  knownAddressDays: AUTH_OPTION.positiveNumber,
  store: {
    expected: 'a store with the methods add, remember and isRemembered',
    isValid: (value) => hasMethods(value, ['add', 'remember', 'isRemembered']),
  },
}

const DAY_MS = 86_400_000
const DEFAULT_ATTEMPTS = 10

/** Several people share the address of an office, and each may mistype. */
const ATTEMPTS_PER_ADDRESS = 3

/** Limits failing logins per account and per address. */
export class LoginThrottle {
  readonly #maxAttempts: number
  readonly #maxAttemptsPerAddress: number
  readonly #windowMs: number
  readonly #knownMs: number
  readonly #store: ThrottleStore
  readonly #turns = new LoginTurns()

  /** @throws {TypeError} an unknown option, or one that is no limit */
  constructor(options: LoginThrottleOptions = {}) {
    checkOptions('LoginThrottle', options, THROTTLE_RULES)
    this.#maxAttempts = options.maxAttempts ?? DEFAULT_ATTEMPTS
    this.#maxAttemptsPerAddress =
      options.maxAttemptsPerAddress ?? this.#maxAttempts * ATTEMPTS_PER_ADDRESS
    this.#windowMs = (options.windowSeconds ?? 60) * 1000
    this.#knownMs = (options.knownAddressDays ?? 30) * DAY_MS
    this.#store = options.store ?? new MemoryThrottleStore()
  }

  /**
   * Runs a login within the limits: it counts if it is refused. Logins from one address take turns:
   * while a login runs it is counted as failing, and many valid ones at once would reach the limit.
   * @param account the user name, `null` where the login names none: it counts for the address only
   * @param options the `signal` of the call ends the wait for its turn; the `logger` is told when the
   *   store fails while a login fails by a fault
   * @throws {TooManyRequests} with the seconds to wait as `data.retryAfter`
   */
  run<T>(
    account: string | null,
    address: string | undefined,
    login: () => Promise<T>,
    { logger = console, signal }: LoginOptions = {},
  ): Promise<T> {
    const place = address === undefined ? (account ?? '') : toNetwork(address)
    const run = async (): Promise<T> => {
      const attempt = await this.begin(account, address)
      const result = await login().catch(async (error: unknown) => {
        // An error of the database, for example, says nothing about the password.
        if (isFault(error)) await cancelOrLog(attempt, logger)
        throw error
      })
      await attempt.succeed()
      return result
    }
    return this.#turns.run(place, run, signal)
  }

  /**
   * Counts a login before it is tried, so that parallel ones count too.
   *
   * An address from which the account has logged in before has a counter of its own for the
   * account: logins that fail elsewhere do not lock the owner out. Such logins have a counter of
   * their own for the address as well: somebody who tries many names there does not lock out those
   * who are known.
   * @throws {TooManyRequests} with the seconds to wait as `data.retryAfter`
   */
  async begin(account: string | null, address: string | undefined): Promise<LoginAttempt> {
    const counters: Counter[] = []
    const network = address === undefined ? null : toNetwork(address)
    // Counted by the exact user name: `Ann` and `ann` may be two accounts.
    const pair = network === null || account === null ? null : `${network} ${account}`
    const isKnown = pair !== null && (await this.#store.isRemembered(toKey('known', pair)))
    // The address first: once it is refused, the names that it invents make no counters.
    if (network !== null) {
      const key = toKey(isKnown ? 'address-known' : 'address', network)
      await this.#count(key, this.#maxAttemptsPerAddress, counters)
    }
    if (account !== null) {
      const spelling = account.trim().toLowerCase()
      const key = isKnown ? toKey('pair', pair) : toKey('account', spelling)
      await this.#count(key, this.#maxAttempts, counters)
    }
    return {
      cancel: () => undo(counters),
      succeed: async () => {
        await undo(counters)
        if (pair !== null) await this.#store.remember(toKey('known', pair), this.#knownMs)
      },
    }
  }

  /** A login beyond the limit isn't counted: however many come, the limit ends with its window. */
  async #count(key: string, maxAttempts: number, counters: Counter[]): Promise<void> {
    const counter = await this.#store.add(key, this.#windowMs)
    counters.push(counter)
    if (counter.count <= maxAttempts) return
    await undo(counters)
    const retryAfter = Math.max(1, Math.ceil(counter.remainingMs / 1000))
    throw new TooManyRequests('Too many failed logins', { retryAfter })
  }
}

async function undo(counters: readonly Counter[]): Promise<void> {
  await Promise.all(counters.map((counter) => counter.undo()))
}

/**
 * Cancels an attempt whose login has failed by a fault. Where the store fails as well, the fault is
 * what the caller has to know: the attempt stays counted until its window ends.
 */
async function cancelOrLog(attempt: LoginAttempt, logger: Pick<Logger, 'error'>): Promise<void> {
  try {
    await attempt.cancel()
  } catch (error) {
    logger.error({ err: error }, 'The store of the login throttle failed')
  }
}

function isFault(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.code >= 500
}

/** Returns the throttle that the setting asks for, `null` only where it is `false`. */
export function toLoginThrottle(setting: LoginThrottleOptions | boolean): LoginThrottle | null {
  if (setting === false) return null
  return new LoginThrottle(setting === true ? {} : setting)
}

/** Returns a key with a hash: names may be long, and e-mail addresses are not to be stored here. */
function toKey(kind: string, name: string): string {
  return `${kind} ${createHash('sha256').update(name).digest('base64url')}`
}
