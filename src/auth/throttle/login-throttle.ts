import type { Logger, Params } from '../../core/index.ts'
import { ServiceError, TooManyRequests } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, withDefaults } from '../../core/options/option-check.ts'
import { AUTH_OPTION, hasMethods } from '../settings-values.ts'
import { hashString } from '../tokens/opaque-token.ts'
import { WorkQueue } from '../work-queue.ts'
import { getNetwork } from './network.ts'
import type { Counter, ThrottleStore } from './throttle-store.ts'
import { MemoryThrottleStore, toRetrySeconds } from './throttle-store.ts'

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

/** Limits failing logins per account and per address. */
export class LoginThrottle {
  readonly #options: Required<LoginThrottleOptions>
  readonly #turns = new LoginTurns()
  #hasWarned = false

  /** @throws {TypeError} an unknown option, or one that is no limit */
  constructor(options: LoginThrottleOptions = {}) {
    checkOptions('LoginThrottle', options, THROTTLE_RULES)
    const { maxAttempts = 10, store = new MemoryThrottleStore() } = options
    // Several people share the address of an office, and each may mistype.
    const maxAttemptsPerAddress = maxAttempts * 3
    const defaults = { maxAttempts, maxAttemptsPerAddress, windowSeconds: 60, knownAddressDays: 30 }
    this.#options = withDefaults({ ...defaults, store }, options)
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
    {
      logger = console,
      signal,
    }: { readonly logger?: Pick<Logger, 'error'>; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const place = address === undefined ? (account ?? '') : getNetwork(address)
    const logFailure = (error: unknown): void =>
      logger.error({ err: error }, 'The store of the login throttle failed')
    const run = async (): Promise<T> => {
      const attempt = await this.begin(account, address)
      const result = await login({ attempt }).catch(async (error: unknown) => {
        // An error of the database, for example, says nothing about the password.
        const isFault = !(error instanceof ServiceError) || error.code >= 500
        // Where the store fails as well, the attempt stays counted: the caller has to know the fault.
        if (isFault) await attempt.cancel().catch(logFailure)
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
    const { maxAttempts, maxAttemptsPerAddress, store, ...times } = this.#options
    const network = address === undefined ? null : getNetwork(address)
    const counters: Counter[] = []
    // What is remembered if the login goes well: the name and the user are known here.
    const logins: string[] = []
    const count = async (key: string): Promise<Counter> => {
      const counter = await store.add(key, times.windowSeconds * 1000)
      counters.push(counter)
      return counter
    }
    const undo = async (): Promise<void> => {
      await Promise.all(counters.map((counter) => counter.undo()))
    }
    const limit = async (key: string, max: number): Promise<void> => {
      const counter = await count(key)
      if (counter.count <= max) return
      // One beyond the limit isn't counted: however many come, the limit ends with its window.
      await undo()
      throw new TooManyRequests('Too many failed logins', { retryAfter: toRetrySeconds(counter) })
    }
    const findCounter = async (kind: '' | '-user', name: string) => {
      // Known by the exact user name: `Ann` and `ann` may be two accounts.
      const pair = `${network} ${name}`
      const login = createCounterKey(`known${kind}`, pair)
      const isKnown = network !== null && (await store.isRemembered(login))
      if (network !== null) logins.push(login)
      const key = isKnown
        ? createCounterKey(`pair${kind}`, pair)
        : createCounterKey(`account${kind}`, name.trim().toLowerCase())
      return { key, isKnown }
    }
    const named = account === null ? null : await findCounter('', account)
    // The address first: once it is refused, the names that it invents make no counters.
    if (network !== null) {
      const kind = named?.isKnown ? 'address-known' : 'address'
      await limit(createCounterKey(kind, network), maxAttemptsPerAddress)
    }
    if (named !== null) await limit(named.key, maxAttempts)
    return {
      countUser: async (user) => {
        const found = await findCounter('-user', user)
        // Counted beyond the limit as well: to take it back would be a call of the store that tells of it.
        return (await count(found.key)).count <= maxAttempts
      },
      cancel: undo,
      succeed: async () => {
        await undo()
        for (const login of logins) await store.remember(login, times.knownAddressDays * DAY_MS)
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
}

/** Returns a key with a hash: names may be long, and e-mail addresses are not to be stored here. */
export function createCounterKey(kind: string, name: string): string {
  return `${kind} ${hashString(name)}`
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
      let timer: NodeJS.Timeout | undefined
      const end = new Promise((resolve) => {
        timer = setTimeout(resolve, MAX_TURN_MS)
      })
      await Promise.race([outcome, end]).catch(() => undefined)
      clearTimeout(timer)
    }
    try {
      await queue.run(takeTurn, { signal })
    } finally {
      if (queue.size === 0) this.#queues.delete(address)
    }
    return outcome as Promise<T>
  }
}
