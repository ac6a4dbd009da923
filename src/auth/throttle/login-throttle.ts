import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Logger, Params } from '../../core/index.ts'
import { ServiceError, TooManyRequests } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions } from '../../core/options/option-check.ts'
import { AUTH_OPTION, hasMethods } from '../settings-values.ts'
import { WorkQueue } from '../work-queue.ts'
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
  /** Default: the memory of this process, at most 10,000 accounts and 20,000 addresses. */
  readonly store?: ThrottleStore
}

/** A login that is being checked. It is counted as a failing one until it has succeeded. */
export interface LoginAttempt {
  /**
   * To be called with the user who was found by the account, before the password is checked: one may be
   * found by many names, where a collation compares them. Returns whether the login is within the limit
   * of this user. To be called where nobody is found as well, or its time would tell.
   */
  countUser(user: string): Promise<boolean>
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
  #hasWarned = false

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
   * @param login takes the attempt, for the user whom it finds
   * @param options the `signal` of the call ends the wait for its turn; the `logger` is told when the
   *   store fails while a login fails by a fault
   * @throws {TooManyRequests} with the seconds to wait as `data.retryAfter`
   */
  run<T>(
    account: string | null,
    address: string | undefined,
    login: (added: { readonly attempt: LoginAttempt }) => Promise<T>,
    { logger = console, signal }: LoginOptions = {},
  ): Promise<T> {
    const place = address === undefined ? (account ?? '') : getNetwork(address)
    const run = async (): Promise<T> => {
      const attempt = await this.begin(account, address)
      const result = await login({ attempt }).catch(async (error: unknown) => {
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
    const network = address === undefined ? null : getNetwork(address)
    const named = account === null ? null : createAccountKeys('', network, account)
    const keys = named === null ? [] : [named]
    const isKnown = named !== null && (await this.#isKnown(named))
    // The address first: once it is refused, the names that it invents make no counters.
    if (network !== null) {
      const key = createKey(isKnown ? 'address-known' : 'address', network)
      await this.#limit(key, this.#maxAttemptsPerAddress, counters)
    }
    if (named !== null) {
      await this.#limit(isKnown ? named.pair : named.account, this.#maxAttempts, counters)
    }
    return {
      countUser: async (user) => {
        const found = createAccountKeys('-user', network, user)
        keys.push(found)
        const key = (await this.#isKnown(found)) ? found.pair : found.account
        // Counted beyond the limit as well: to take it back would be a call of the store that tells of it.
        const { count } = await this.#count(key, counters)
        return count <= this.#maxAttempts
      },
      cancel: () => undo(counters),
      succeed: async () => {
        await undo(counters)
        for (const { known } of keys) {
          if (known !== null) await this.#store.remember(known, this.#knownMs)
        }
      },
    }
  }

  /**
   * Logs once that all callers share the address of a proxy, and with it one limit. Where the
   * transport trusts the proxy, the address is one of those in `X-Forwarded-For`. A client that
   * invents the header causes one line in the log at most.
   */
  warnOfProxy({ address, headers }: Params, logger: Pick<Logger, 'warn'>, setting: string): void {
    const forwarded = headers?.['x-forwarded-for']
    if (address === undefined || forwarded === undefined || this.#hasWarned) return
    if (String(forwarded).includes(address)) return
    this.#hasWarned = true
    logger.warn(
      { address, setting },
      'A login came with X-Forwarded-For from an address that is not trusted: if this is your proxy, ' +
        'name it in `trustProxy`, or all callers share its limit for failing logins',
    )
  }

  async #isKnown({ known }: AccountKeys): Promise<boolean> {
    return known !== null && this.#store.isRemembered(known)
  }

  /**
   * Counts a login. One beyond the limit isn't counted: however many come, the limit ends with its
   * window.
   * @throws {TooManyRequests} the counter is beyond its limit; nothing of the login is counted then
   */
  async #limit(key: string, maxAttempts: number, counters: Counter[]): Promise<void> {
    const { count, remainingMs } = await this.#count(key, counters)
    if (count <= maxAttempts) return
    await undo(counters)
    const retryAfter = Math.max(1, Math.ceil(remainingMs / 1000))
    throw new TooManyRequests('Too many failed logins', { retryAfter })
  }

  async #count(key: string, counters: Counter[]): Promise<Counter> {
    const counter = await this.#store.add(key, this.#windowMs)
    counters.push(counter)
    return counter
  }
}

/** The keys of an account in the store. */
interface AccountKeys {
  /** What is remembered after a login from a network, `null` without one. */
  readonly known: string | null
  /** The counter of the account in a network where it is known. */
  readonly pair: string
  /** The counter everywhere else, of all ways to write a name in upper and lower case. */
  readonly account: string
}

/** Known by the exact user name: `Ann` and `ann` may be two accounts. */
function createAccountKeys(
  kind: '' | '-user',
  network: string | null,
  account: string,
): AccountKeys {
  const pair = `${network} ${account}`
  return {
    known: network === null ? null : createKey(`known${kind}`, pair),
    pair: createKey(`pair${kind}`, pair),
    account: createKey(`account${kind}`, account.trim().toLowerCase()),
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

/** Returns a key with a hash: names may be long, and e-mail addresses are not to be stored here. */
function createKey(kind: string, name: string): string {
  return `${kind} ${createHash('sha256').update(name).digest('base64url')}`
}

/** Returns the part of an address that one customer has: all of IPv4, the first 64 bits of IPv6. */
export function getNetwork(address: string): string {
  // Some proxies add the port: `203.0.113.9:40001` or `[2001:db8::1]:40001`.
  const [bare = ''] = address
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .split('%')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)
  if (mapped?.[1] !== undefined) return mapped[1]
  if (!isIPv6(bare)) return bare
  // As URLs write it: without leading zeros, and without an IPv4 address at its end.
  const { hostname } = new URL(`http://[${bare}]`)
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter(Boolean))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}

/**
 * As many passwords as are hashed at a time by default. With one, callers behind a proxy that is
 * not trusted, who share an address, would get through half as many logins.
 */
const PLACES = 2
const MAX_WAITING = 50
const MAX_TURN_MS = 5000

/**
 * Has logins of one address take turns, two at a time: most begin when it is known whether those
 * before went well. The limits do not depend on this, as every login is counted when it begins; it
 * only keeps valid logins that come at the same time from being refused. So a turn ends after five
 * seconds at the latest, and a login that hangs does not hold up the others.
 */
export class LoginTurns {
  readonly #queues = new Map<string, WorkQueue>()
  readonly #maxTurnMs: number

  constructor(maxTurnMs: number = MAX_TURN_MS) {
    this.#maxTurnMs = maxTurnMs
  }

  /** How many addresses have logins that run or wait. */
  get size(): number {
    return this.#queues.size
  }

  /**
   * Runs a login when its turn comes, and settles as the login does.
   * @param signal ends the wait
   * @throws {TooManyRequests} too many of this address are waiting
   */
  async run<T>(address: string, login: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const queue = this.#queues.get(address) ?? new WorkQueue(PLACES, MAX_WAITING)
    if (queue.size >= PLACES + MAX_WAITING) {
      throw new TooManyRequests('Too many logins at once', { retryAfter: 1 })
    }
    this.#queues.set(address, queue)
    let outcome: Promise<T> | undefined
    const takeTurn = async (): Promise<void> => {
      outcome = login()
      await settleWithin(outcome, this.#maxTurnMs)
    }
    try {
      await queue.run(takeTurn, { signal })
    } finally {
      if (queue.size === 0) this.#queues.delete(address)
    }
    return outcome as Promise<T>
  }
}

/** Resolves when the work has settled, whether well or not, or the time is over. */
async function settleWithin(work: Promise<unknown>, maxMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise((resolve) => {
    timer = setTimeout(resolve, maxMs)
  })
  await Promise.race([work, end]).catch(() => undefined)
  clearTimeout(timer)
}
