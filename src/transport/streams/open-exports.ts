import type { FastifyReply } from 'fastify'
import type { AuthenticationResult } from '../../auth/authentication.ts'
import { isEndedBy, onLoginEnd } from '../../auth/login-end.ts'
import { getTokenClaims, toExpiry } from '../../auth/proof.ts'
import { findCaller } from '../../auth/throttle/caller.ts'
import {
  LoginEnded,
  ServerStreamLimit,
  StreamLimit,
  TokenExpired,
} from '../../core/errors/coded-errors.ts'
import type { Application, Params } from '../../core/index.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { OPTION, withDefaults } from '../../core/options/option-check.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import { isGone } from '../replies/reply-state.ts'

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

/** An open stream of records. */
interface OpenExport {
  readonly caller: string
  readonly params: Params
  /** Whether the login of the caller has ended. */
  hasEnded: boolean
  /** When the hooks of `find` must run again, by the clock of the process. */
  recheckAt: number
}

/** The part of a transport that counting its streams needs. */
interface ExportTransport {
  readonly app: Application
  readonly options: StreamOptions
  readonly attachments: Map<symbol, unknown>
  readonly closers: (() => void)[]
}

/** The key of a transport's open record streams. */
const EXPORTS: unique symbol = Symbol('remex.exports')

/** Returns the open streams of a transport. They learn when logins end. */
function findExports({ app, attachments, closers }: ExportTransport): Set<OpenExport> {
  return getOrAdd(attachments, EXPORTS, () => {
    const open = new Set<OpenExport>()
    const onLogout = ({ authentication }: AuthenticationResult): void => {
      const { jti } = getTokenClaims(authentication)
      if (jti === undefined) return
      for (const one of open) {
        if (getTokenClaims(one.params.authentication).jti === jti) one.recheckAt = 0
      }
    }
    app.on('logout', onLogout)
    const stopFollowing = onLoginEnd(app, (end) => {
      for (const one of open) {
        if (isEndedBy(end, getTokenClaims(one.params.authentication))) one.hasEnded = true
      }
    })
    closers.push(() => {
      app.off('logout', onLogout)
      stopFollowing()
    })
    return open
  }) as Set<OpenExport>
}

/**
 * Checks that the caller of a stream may still read, before more records are sent. Gets a function that runs the hooks of
 * `find` again. Rejects with `NotAuthenticated` if the token has expired or the session has ended.
 */
export type CheckExport = (recheck: () => Promise<unknown>) => Promise<void>

/**
 * Counts a stream until its response has ended, in any way. Returns the check of its caller.
 * @param params those after the hooks, which have authenticated the caller
 * @throws {TooManyRequests} the caller has `maxPerCaller` streams
 * @throws {Unavailable} there are `max` streams
 */
export function admitExport(
  transport: ExportTransport,
  { raw }: FastifyReply,
  params: Params,
): CheckExport {
  const { max, maxPerCaller, recheckMs } = withDefaults(DEFAULTS, transport.options.exports ?? {})
  const open = findExports(transport)
  const caller = findCaller(params)
  const own = [...open].filter((one) => one.caller === caller)
  const retry = { retryAfter: RETRY_AFTER_SECONDS }
  if (own.length >= maxPerCaller) {
    throw new StreamLimit(`A caller may have ${maxPerCaller} streams of records`, retry)
  }
  if (open.size >= max) throw new ServerStreamLimit('There are too many streams of records', retry)
  const recheckAt = performance.now() + recheckMs
  const added: OpenExport = { caller, params, hasEnded: false, recheckAt }
  if (!isGone(raw)) {
    open.add(added)
    raw.once('close', () => open.delete(added))
  }
  return async (recheck) => {
    if (added.hasEnded) throw new LoginEnded('The session has ended')
    const expiresAt = toExpiry(params.authentication)
    if (expiresAt <= Date.now()) throw new TokenExpired('The token has expired')
    const now = performance.now()
    if (now < added.recheckAt) return
    added.recheckAt = now + recheckMs
    await recheck()
  }
}
