import { RateLimitReached } from '../../core/errors/coded-errors.ts'
import { HookError, OptionError } from '../../core/errors/setup-errors.ts'
import { describeFunction, nameFunction } from '../../core/function-metadata.ts'
import type { HttpAnswer, Params } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isRepeated } from '../../core/transport-facts.ts'
import type { HookCall } from '../hooks/hook-call.ts'
import { AUTH_OPTION } from '../settings-values.ts'
import { findCaller } from './caller.ts'
import { createCounterKey } from './login-throttle.ts'
import type { CallbackStore, ThrottleStore } from './throttle-store.ts'
import { MemoryThrottleStore, toCounters, toRetrySeconds } from './throttle-store.ts'

/** Options of {@link rateLimit}. */
export interface RateLimitOptions {
  /** Calls that a caller may make per window. */
  readonly max: number
  /** The length of a window. Default: 60. */
  readonly windowSeconds?: number
  /**
   * Returns the key that a call counts for; `undefined` for no limit. Default: the user after `authenticate`, or the
   * subject of the token, otherwise the network address.
   */
  readonly by?: (params: Params) => string | undefined | Promise<string | undefined>
  /** Limits with the same name share one count. Default: each method of each service has its own. */
  readonly name?: string
  /** Default: the memory of this process. One store can serve all limits. */
  readonly store?: ThrottleStore | CallbackStore
}

/** The part of a hook context that the hook uses. */
interface LimitedCall extends HookCall {
  readonly path: string
  http?: HttpAnswer
}

/** An around or before hook that limits calls. */
export type RateLimitHook = (context: LimitedCall, next?: () => Promise<void>) => Promise<void>

const RULES: OptionRules = {
  max: OPTION.positiveInteger,
  windowSeconds: AUTH_OPTION.positiveNumber,
  by: OPTION.function,
  name: OPTION.string,
  store: {
    expected: 'a store with the method add, or incr as those of @fastify/rate-limit',
    isValid: (value) => toCounters(value) !== null,
  },
}

/** What is left of a limit after a call was counted. */
type Counted = Readonly<Record<'max' | 'remaining' | 'seconds', number>>

const LIMIT = 'RateLimit-Limit'
const REMAINING = 'RateLimit-Remaining'
const RESET = 'RateLimit-Reset'

/**
 * Returns an around or before hook that limits how often an external caller calls a method: `around: { all:
 * [authenticate('jwt'), rateLimit({ max: 100, windowSeconds: 60 })] }`. After `authenticate` it counts per user,
 * otherwise per network. As a before hook it does not count calls that the option `schemas` rejects. Internal calls do
 * not count, nor do the calls of `find` that the server makes for an open stream.
 *
 * Responses have the headers `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, in seconds; with several
 * limits, those of the one closest to being reached.
 *
 * A call throws `TooManyRequests` with the seconds to wait as `data.retryAfter`, and `Unavailable` if the store fails.
 * @throws {TypeError} an option is missing, unknown or invalid
 */
export function rateLimit(options: RateLimitOptions): RateLimitHook {
  checkOptions('rateLimit()', options, RULES)
  const { max, windowSeconds = 60, by = findCaller, name, store } = options
  if (max === undefined) throw new OptionError("rateLimit() needs the option 'max'")
  const counters = toCounters(store) ?? new MemoryThrottleStore()
  // A repeated transaction runs its hooks again for the same call, which must count once.
  const counted = new WeakMap<object, Counted>()
  const count = async ({ method, path }: LimitedCall, caller: string): Promise<Counted> => {
    const limited = `${name ?? `${path} ${method} ${max}`} ${windowSeconds} ${caller}`
    // Keys starting with `address` do not take up the room of accounts in a `MemoryThrottleStore`.
    const counter = await counters.add(
      createCounterKey('address-rate', limited),
      windowSeconds * 1000,
    )
    const seconds = toRetrySeconds(counter)
    if (counter.count <= max) return { max, remaining: max - counter.count, seconds }
    throw new RateLimitReached('Too many requests', { retryAfter: seconds, limit: max })
  }
  const hook: RateLimitHook = async (context, next) => {
    const { params, type } = context
    const isCounted = params.provider !== undefined && !isRepeated(params)
    const caller = isCounted ? await by(params) : undefined
    if (caller !== undefined && typeof caller !== 'string') {
      throw new HookError("rateLimit(): the function 'by' must return a string")
    }
    if (caller !== undefined) {
      const limit = counted.get(context) ?? (await count(context, caller))
      counted.set(context, limit)
      context.http = withLimit(context.http, limit)
    }
    if (type === 'around') await next?.()
  }
  return describeFunction(nameFunction('rateLimit', hook), {
    hookArguments: [options],
    refusesNobody: true,
    terms: { errors: [429] },
    checkPlace: ({ group, label }) => {
      if (group !== 'after' && group !== 'error') return
      throw new HookError(`rateLimit() in ${label} runs too late: register it in 'around'`)
    },
  })
}

describeFunction(rateLimit, { hookFactory: 'rateLimit({ max: 100 })' })

function withLimit(http: HttpAnswer = {}, { max, remaining, seconds }: Counted): HttpAnswer {
  const { headers = {} } = http
  if (Number(headers[REMAINING] ?? Number.POSITIVE_INFINITY) <= remaining) return http
  const own = { [LIMIT]: `${max}`, [REMAINING]: `${remaining}`, [RESET]: `${seconds}` }
  return { ...http, headers: { ...headers, ...own } }
}
