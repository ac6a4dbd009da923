import { SettingError } from '../../core/errors/setup-errors.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { isNonEmptyString, isPlainObject } from '../../core/value-kind.ts'
import { isOrigin } from '../settings-values.ts'
import { parseTimeSpan, TIME_SPAN } from '../tokens/token-options.ts'

/** The setting `sessions`: logins get refresh tokens and can be ended on the server. */
export interface SessionOptions {
  /** The path of the service that stores the sessions, a `MongoDBService`. */
  readonly service: string
  /** How long access tokens live: seconds, or a string like `'10m'`. Default: `'10m'`. */
  readonly accessExpiresIn?: number | string
  /** How long a session lasts without a refresh: seconds, or a string. Default: `'14d'`. */
  readonly idle?: number | string
  /** How long a session lasts at most: seconds, or a string. Default: `'90d'`. */
  readonly absolute?: number | string
  /** The maximum number of sessions per user: a login ends the one unused for the longest time. Default: no limit. */
  readonly maxPerUser?: number
  /** How long a refresh whose response was lost may be repeated, in ms. Default: 10,000. */
  readonly graceMs?: number
  /**
   * Whether access tokens of an ended session are rejected: `'always'`, at the cost of a read per request, or
   * `'never'`, so that they stay valid until they expire. Default: `'never'`.
   */
  readonly checkSession?: 'always' | 'never'
  /** How long the result of `checkSession` is cached, in ms. Default: 0. */
  readonly checkCacheMs?: number
  /**
   * Whether external callers get tokens in cookies that scripts cannot read: `true` for the refresh token, `'all'` for
   * both. A token in a cookie is not in the response body. Default: `false`.
   */
  readonly cookie?: boolean | 'all'
  /**
   * The path to which browsers send the refresh token, that of the authentication service. With a path other than
   * `'/'`, the cookie loses its prefix `__Host-`, so neighbouring hosts can set it. Default: `'/'`.
   */
  readonly cookiePath?: string
  /**
   * Additional origins whose pages may log in and write with cookies. The server's own origin always may. Default:
   * `[]`.
   */
  readonly origins?: readonly string[]
}

declare module '../settings/authentication-config.ts' {
  interface AuthenticationConfiguration {
    /** Logins get refresh tokens and can be ended on the server. Default: logins only get an access token. */
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

/** The session options with their defaults; `maxPerUser` is `Infinity` for no limit. */
export interface ResolvedSessionOptions
  extends Required<Omit<SessionOptions, TimeOption | 'checkSession'>> {
  readonly accessSeconds: number
  readonly idleMs: number
  readonly absoluteMs: number
  readonly checksAlways: boolean
}

type TimeOption = 'accessExpiresIn' | 'idle' | 'absolute'

/**
 * Returns the session options with their defaults, with times as numbers.
 * @param name how errors name the setting
 * @throws {TypeError} a time is invalid or shorter than a second
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
    throw new SettingError(
      `'${name}.${option}' must be at least a second: sessions would end at once`,
    )
  }
  const accessSeconds = toSeconds('accessExpiresIn', '10m')
  const idleMs = toSeconds('idle', '14d') * 1000
  const absoluteMs = toSeconds('absolute', '90d') * 1000
  if (idleMs <= accessSeconds * 1000) {
    throw new SettingError(`'${name}.idle' must be longer than '${name}.accessExpiresIn'`)
  }
  const needless = (['cookiePath', 'origins'] as const).find((option) => options[option])
  if (!cookie && needless !== undefined) {
    throw new SettingError(`'${name}.${needless}' needs '${name}.cookie'`)
  }
  const checksAlways = checkSession === 'always'
  return {
    ...{ service, accessSeconds, idleMs, absoluteMs, maxPerUser, graceMs },
    ...{ checksAlways, checkCacheMs, cookie, cookiePath, origins },
  }
}

/** The kind of a session token. */
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
