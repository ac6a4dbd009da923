import { LoginLimit } from '../../core/errors/coded-errors.ts'
import type { Logger, Params } from '../../core/index.ts'
import { ServiceError } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { hashString } from '../../core/secrets/opaque-token.ts'
import { AUTH_OPTION, hasMethods } from '../settings-values.ts'
import { WorkQueue } from '../work-queue.ts'
import { getNetwork } from './network.ts'
import type { Counter, ThrottleStore } from './throttle-store.ts'
import { MemoryThrottleStore, toRetrySeconds } from './throttle-store.ts'

/** The setting `loginThrottle`. */
export interface LoginThrottleOptions {
  /** Failed logins of one account per window. Default: 10. */
  readonly maxAttempts?: number
  /**
   * Failed logins from one address per window, and as many again for accounts that have logged in from there before.
   * Default: three times `maxAttempts`.
   */
  readonly maxAttemptsPerAddress?: number
  /** The length of a window. Default: 60. */
  readonly windowSeconds?: number
  /** How long an address stays known after a login from there. Default: 30. */
  readonly knownAddressDays?: number
  /** Default: the memory of this process, with at most 10,000 accounts and 20,000 addresses. */
  readonly store?: ThrottleStore
}

/** A login that is being checked. It counts as failed until it has succeeded. */
export interface LoginAttempt {
  /**
   * Counts the login for the user whom the account name found, and returns whether it is within that user's limit. Call
   * it before the password is checked: with a collation, many names may find one user. Call it even if there is no
   * user, or the timing would reveal that.
   */
  countUser(user: string): Promise<boolean>
  /** Call it when the login has succeeded: it no longer counts. */
  succeed(): Promise<void>
  /** Call it when the login could not be checked: it no longer counts. */
  cancel(): Promise<void>
}

/** The rules for {@link LoginThrottleOptions}. */
export const THROTTLE_RULES: OptionRules = {
  maxAttempts: OPTION.positiveInteger,
  maxAttemptsPerAddress: OPTION.positiveInteger,
  windowSeconds: AUTH_OPTION.positiveNumber,
  knownAddressDays: AUTH_OPTION.positiveNumber,
  store: {
    expected: 'a store with the methods add, remember and isRemembered',
    isValid: (value) => hasMethods(value, ['add', 'remember', 'isRemembered']),
  },
}

const DAY_MS = 86_400_000

/**
 * Limits failed logins per account and per address. A login counts as failed from its start until it succeeds, so
 * parallel logins cannot exceed a limit.
 */
export class LoginThrottle {
  readonly #options: Required<LoginThrottleOptions>
  readonly #turns = new LoginTurns()
  #hasWarned = false

  /** @throws {TypeError} an option is unknown or is not a valid limit */
  constructor(options: LoginThrottleOptions = {}) {
    checkOptions('LoginThrottle', options, THROTTLE_RULES)
    const { maxAttempts = 10, store = new MemoryThrottleStore() } = options
    // The people of an office share an address, and each may mistype.
    const maxAttemptsPerAddress = maxAttempts * 3
    const defaults = { maxAttempts, maxAttemptsPerAddress, windowSeconds: 60, knownAddressDays: 30 }
    this.#options = withDefaults({ ...defaults, store }, options)
  }

  /**
   * Runs a login within the limits; it counts if it is rejected. Logins from one address take turns: a running login
   * counts as failed, so many valid ones at once would reach the limit.
   * @param account the user name, `null` if the login has none: then it counts for the address only
   * @param login receives the attempt, to count the user that it finds
   * @param options `signal` ends the wait for a turn; `logger` logs a failure of the store while a login fails for
   *   another reason
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
        // A failure of the database, for example, says nothing about the password.
        const isFault = !(error instanceof ServiceError) || error.code >= 500
        // If the store fails too, the attempt stays counted: the caller needs the original error.
        if (isFault) await attempt.cancel().catch(logFailure)
        throw error
      })
      await attempt.succeed()
      return result
    }
    return this.#turns.run(place, run, signal)
  }

  /**
   * Counts a login before it is tried, so that parallel logins count too.
   *
   * For an address from which the account has logged in before, the account has a separate counter: failed logins from
   * elsewhere do not lock the owner out. The address has a separate counter for such logins too: a caller who tries
   * many names there does not lock out known accounts.
   * @throws {TooManyRequests} with the seconds to wait as `data.retryAfter`
   */
  async begin(account: string | null, address: string | undefined): Promise<LoginAttempt> {
    const { maxAttempts, maxAttemptsPerAddress, store, ...times } = this.#options
    const network = address === undefined ? null : getNetwork(address)
    const counters: Counter[] = []
    // Keys to remember if the login succeeds: the name and the user are known at this address.
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
      // Attempts beyond the limit are not counted, so the limit always ends with its window.
      await undo()
      throw new LoginLimit('Too many failed logins', { retryAfter: toRetrySeconds(counter) })
    }
    const findCounter = async (kind: '' | '-user', name: string) => {
      // Compares the exact user name: `Ann` and `ann` may be two accounts.
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
    // Checks the address first: once it is over its limit, invented names create no more counters.
    if (network !== null) {
      const kind = named?.isKnown ? 'address-known' : 'address'
      await limit(createCounterKey(kind, network), maxAttemptsPerAddress)
    }
    if (named !== null) await limit(named.key, maxAttempts)
    return {
      countUser: async (user) => {
        const found = await findCounter('-user', user)
        // Counts beyond the limit too: taking the count back would be an extra call of the store, which the timing
        // would reveal.
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
   * Logs once that all callers share the address of a proxy, and therefore one limit. If the transport trusts the
   * proxy, the address is one of those in `X-Forwarded-For`. A client that forges the header causes at most one line in
   * the log.
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

/** Returns a key with a hash: names may be long, and email addresses must not be stored here. */
export function createCounterKey(kind: string, name: string): string {
  return `${kind} ${hashString(name)}`
}

/**
 * The default number of passwords hashed at a time. With one place, callers behind an untrusted proxy, who share an
 * address, would get half as many logins through.
 */
const PLACES = 2
const MAX_WAITING = 50
const MAX_TURN_MS = 5000

/**
 * Makes logins from one address take turns, two at a time, so that most start after the outcome of earlier ones is
 * known. The limits do not depend on this, as every login is counted when it starts: it only keeps valid logins at the
 * same time from being rejected. A turn ends after five seconds at the latest, so a hanging login does not hold up the
 * others.
 */
export class LoginTurns {
  readonly #queues = new Map<string, WorkQueue>()

  /** How many addresses have running or waiting logins. */
  get size(): number {
    return this.#queues.size
  }

  /**
   * Runs a login when its turn comes, and settles as the login does.
   * @param signal ends the wait
   * @throws {TooManyRequests} too many logins from this address are waiting
   */
  async run<T>(address: string, login: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const queue = this.#queues.get(address) ?? new WorkQueue(PLACES, MAX_WAITING)
    if (queue.size >= PLACES + MAX_WAITING) {
      throw new LoginLimit('Too many logins at once', { retryAfter: 1 })
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
