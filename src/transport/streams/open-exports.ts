import type { AuthenticationResult } from '../../auth/authentication.ts'
import { isEndedBy, onLoginEnd } from '../../auth/login-end.ts'
import { getTokenClaims, toExpiry } from '../../auth/proof.ts'
import { findCaller } from '../../auth/throttle/caller.ts'
import type { Application, Params } from '../../core/index.ts'
import { NotAuthenticated, TooManyRequests, Unavailable } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { OPTION, withDefaults } from '../../core/options/option-check.ts'

/** Limits of [streams of records](https://github.com/remexjs/remex/blob/main/docs/guides/streams.md). */
export interface ExportOptions {
  /** The maximum number of open record streams; more return 503. Default: 50. */
  readonly max?: number
  /**
   * The maximum number of open streams per user or, without a login, per network (an IPv4 address, or an IPv6 /64);
   * more return 429. Default: 10.
   */
  readonly maxPerCaller?: number
  /**
   * How often the hooks of `find` run again for an open stream, in milliseconds. A caller keeps a revoked right for at
   * most this long. Default: 60,000.
   */
  readonly recheckMs?: number
}

/** The options of a transport about record streams. */
export interface StreamOptions {
  /** Limits of record streams: how many may be open, and how often their callers are checked again. */
  readonly exports?: ExportOptions
}

const EXPORT_RULES: OptionRules & Record<keyof ExportOptions, unknown> = {
  max: OPTION.limit,
  maxPerCaller: OPTION.limit,
  recheckMs: OPTION.positiveInteger,
}

export const STREAM_RULES: Record<keyof StreamOptions, OptionRules[string]> = {
  exports: { ...OPTION.object, keys: EXPORT_RULES },
}

const DEFAULTS: Required<ExportOptions> = { max: 50, maxPerCaller: 10, recheckMs: 60_000 }

/** When a rejected caller may retry, in seconds. It is unknown when a stream will end. */
const RETRY_AFTER_SECONDS = 5

/** The open streams of records, with their callers. */
export class OpenExports {
  readonly #app: Application
  readonly #options: Required<ExportOptions>
  readonly #open = new Set<OpenExport>()
  readonly #stopListening: () => void

  constructor(app: Application, options: ExportOptions = {}) {
    this.#app = app
    this.#options = withDefaults(DEFAULTS, options)
    app.on('logout', this.#onLogout)
    this.#stopListening = onLoginEnd(app, (end) => {
      for (const one of this.#open) {
        if (isEndedBy(end, getTokenClaims(one.params.authentication))) one.hasEnded = true
      }
    })
  }

  /**
   * Counts another stream.
   * @param params those after the hooks, which have authenticated the caller
   * @throws {TooManyRequests} the caller has `maxPerCaller` streams
   * @throws {Unavailable} there are `max` streams
   */
  admit(params: Params): OpenExport {
    const { max, maxPerCaller, recheckMs } = this.#options
    const caller = findCaller(params)
    const own = [...this.#open].filter((one) => one.caller === caller)
    const retry = { retryAfter: RETRY_AFTER_SECONDS }
    if (own.length >= maxPerCaller) {
      throw new TooManyRequests(`A caller may have ${maxPerCaller} streams of records`, retry)
    }
    if (this.#open.size >= max) {
      throw new Unavailable('There are too many streams of records', retry)
    }
    const added = new OpenExport(caller, params, recheckMs)
    this.#open.add(added)
    return added
  }

  release(ended: OpenExport): void {
    this.#open.delete(ended)
  }

  /** Stops listening. */
  close(): void {
    this.#app.off('logout', this.#onLogout)
    this.#stopListening()
  }

  readonly #onLogout = ({ authentication }: AuthenticationResult): void => {
    const { jti } = getTokenClaims(authentication)
    if (jti === undefined) return
    for (const one of this.#open) {
      if (getTokenClaims(one.params.authentication).jti === jti) one.askForRecheck()
    }
  }
}

/** An open stream of records and its caller. */
class OpenExport {
  readonly caller: string
  readonly params: Params
  /** Whether the login of the caller has ended. */
  hasEnded = false
  readonly #recheckMs: number
  #recheckAt: number

  constructor(caller: string, params: Params, recheckMs: number) {
    this.caller = caller
    this.params = params
    this.#recheckMs = recheckMs
    this.#recheckAt = performance.now() + recheckMs
  }

  askForRecheck(): void {
    this.#recheckAt = 0
  }

  /**
   * Checks that the caller may still read, before more records are sent.
   * @param recheck runs the hooks of `find` again
   * @throws {NotAuthenticated} the token has expired, or the session has ended
   */
  async check(recheck: () => Promise<unknown>): Promise<void> {
    if (this.hasEnded) throw new NotAuthenticated('The session has ended')
    const expiresAt = toExpiry(this.params.authentication)
    if (expiresAt <= Date.now()) throw new NotAuthenticated('The token has expired')
    const now = performance.now()
    if (now < this.#recheckAt) return
    this.#recheckAt = now + this.#recheckMs
    await recheck()
  }
}

export type { OpenExport }
