import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { isNonEmptyString, isPlainObject } from '../../core/value-kind.ts'
import { isOrigin } from '../settings-values.ts'
import { parseTimeSpan, TIME_SPAN } from '../tokens/token-options.ts'

/** The setting `sessions`: logins have refresh tokens, and can be ended on the server. */
export interface SessionOptions {
  /** The path of the service that keeps the sessions, one on MongoDB. */
  readonly service: string
  /** How long access tokens live: seconds, or a string like `'10m'`. Default: `'10m'`. */
  readonly accessExpiresIn?: number | string
  /** After which time without a refresh a session ends: seconds, or a string. Default: `'14d'`. */
  readonly idle?: number | string
  /** How long a session lasts at most: seconds, or a string. Default: `'90d'`. */
  readonly absolute?: number | string
  /** How many sessions a user has at most: a login ends the one that was used longest ago. Default: no limit. */
  readonly maxPerUser?: number
  /** For how long a refresh may be repeated, where its answer was lost, in ms. Default: 10,000. */
  readonly graceMs?: number
  /**
   * Whether access tokens of a session that has ended are refused: `'always'` by a read for each request, or
   * `'never'`, so that they are good until they expire. Default: `'never'`.
   */
  readonly checkSession?: 'always' | 'never'
  /** For how long the read of `checkSession` is remembered, in ms. Default: 0. */
  readonly checkCacheMs?: number
  /**
   * Whether callers outside get tokens in cookies that scripts can not read: `true` for the refresh token,
   * `'all'` for both. A token in a cookie is in no body. Default: `false`.
   */
  readonly cookie?: boolean | 'all'
  /**
   * The path that browsers send the refresh token to, the one of the authentication service. With another path than
   * `'/'`, the cookie loses its prefix `__Host-`, so that neighbouring hosts can plant it. Default: `'/'`.
   */
  readonly cookiePath?: string
  /** The origins whose pages may log in and write by cookies, beside that of the server. Default: `[]`. */
  readonly origins?: readonly string[]
}

declare module '../settings/authentication-config.ts' {
  interface AuthenticationConfiguration {
    /** Logins have refresh tokens, and can be ended on the server. Default: logins only have an access token. */
    readonly sessions?: SessionOptions
  }
}

const RULES: Readonly<Record<keyof SessionOptions, OptionRule>> = {
  service: { expected: 'the path of a service', isValid: isNonEmptyString },
  accessExpiresIn: TIME_SPAN,
  idle: TIME_SPAN,
  absolute: TIME_SPAN,
  maxPerUser: OPTION.positiveInteger,
  graceMs: OPTION.count,
  checkSession: {
    expected: "'always' or 'never'",
    isValid: (value) => value === 'always' || value === 'never',
  },
  checkCacheMs: OPTION.count,
  cookie: {
    expected: "true, false or 'all'",
    isValid: (value) => typeof value === 'boolean' || value === 'all',
  },
  cookiePath: {
    expected: "a path of visible characters, '/api/authentication'",
    isValid: (value) => typeof value === 'string' && /^\/[!-:<-~]*$/.test(value),
  },
  origins: {
    expected: "a list of origins, ['https://app.example.org']",
    isValid: (value) => Array.isArray(value) && value.every(isOrigin),
  },
}

/** The rule of the setting `sessions`. */
export const SESSIONS_RULE: OptionRule = {
  expected: "an object with the path of a service, { service: 'sessions' }",
  isValid: (value) => isPlainObject(value) && value['service'] !== undefined,
  keys: RULES,
}

/** The options of sessions with their defaults, `maxPerUser` as `Infinity` for no limit. */
export interface ResolvedSessionOptions
  extends Required<Omit<SessionOptions, TimeOption | 'checkSession'>> {
  readonly accessSeconds: number
  readonly idleMs: number
  readonly absoluteMs: number
  readonly checksAlways: boolean
}

type TimeOption = 'accessExpiresIn' | 'idle' | 'absolute'

/**
 * Returns the options of sessions with their defaults, times as numbers.
 * @param name how errors name the setting
 * @throws {TypeError} a time is not valid, or shorter than a second
 */
export function resolveSessionOptions(
  options: SessionOptions,
  name: string,
): ResolvedSessionOptions {
  const { service, maxPerUser = Number.POSITIVE_INFINITY, graceMs = 10_000 } = options
  const { checkSession, checkCacheMs = 0, cookie = false, cookiePath = '/', origins = [] } = options
  const toSeconds = (option: TimeOption, otherwise: string): number => {
    const seconds = parseTimeSpan(options[option] ?? otherwise, `${name}.${option}`)
    if (seconds >= 1) return seconds
    throw new TypeError(
      `'${name}.${option}' must be at least a second: nobody could stay logged in`,
    )
  }
  const accessSeconds = toSeconds('accessExpiresIn', '10m')
  const idleMs = toSeconds('idle', '14d') * 1000
  const absoluteMs = toSeconds('absolute', '90d') * 1000
  if (idleMs <= accessSeconds * 1000) {
    throw new TypeError(`'${name}.idle' must be longer than '${name}.accessExpiresIn'`)
  }
  const needless = (['cookiePath', 'origins'] as const).find((option) => options[option])
  if (!cookie && needless !== undefined) {
    throw new TypeError(`'${name}.${needless}' needs '${name}.cookie'`)
  }
  const checksAlways = checkSession === 'always'
  return {
    ...{ service, accessSeconds, idleMs, absoluteMs, maxPerUser, graceMs },
    ...{ checksAlways, checkCacheMs, cookie, cookiePath, origins },
  }
}

/** A token of a session. */
export type TokenKind = 'access' | 'refresh'

/**
 * Returns the name of the cookie of a token.
 * @param configKey the key of the settings of the authentication service
 * @param path that of the cookie
 * @param isSecure whether it is sent over TLS only
 * @see RFC 6265bis §4.1.3 for the prefixes
 */
export function toCookieName(
  configKey: string,
  kind: TokenKind,
  path: string,
  isSecure = true,
): string {
  const prefix = path === '/' ? '__Host-' : '__Secure-'
  return `${isSecure ? prefix : ''}${configKey}-${kind}`
}
