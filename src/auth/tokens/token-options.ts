import { SettingError } from '../../core/errors/setup-errors.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isNonEmptyString, isPlainObject } from '../../core/value-kind.ts'
import { AUTH_OPTION } from '../settings-values.ts'
import type { Algorithm } from './token-key.ts'
import { ALGORITHMS } from './token-key.ts'

/** The setting `jwtOptions`, and the options of single calls, which override it. */
export interface TokenOptions {
  /** Additional header parameters; `typ` is checked on every token. Default: `{ typ: 'access' }`. */
  readonly header?: Readonly<Record<string, unknown>> | undefined
  /** The audience of the tokens. Default: `'https://yourdomain.com'`. */
  readonly audience?: string | readonly string[] | undefined
  /** The issuer of the tokens. Default: `'feathers'`. */
  readonly issuer?: string | undefined
  /** The only algorithm that is used and accepted. Default: `'HS256'`. */
  readonly algorithm?: Algorithm | undefined
  /** How long tokens live: seconds, or a string like `'12h'`. Default: `'1d'`. */
  readonly expiresIn?: number | string | undefined
  /** When tokens become valid: seconds from now, or a string. Default: at once. */
  readonly notBefore?: number | string | undefined
  /** Tokens with a longer lifetime are rejected. Default: `'365d'`, or `expiresIn` if that is longer. */
  readonly maxLifetime?: number | string | undefined
  /** Tolerated clock difference in seconds. Default: 30 for `iat` and `nbf`, none for `exp`. */
  readonly clockTolerance?: number | undefined
  /** How many verified tokens are cached; 0 for none. Default: 1000. */
  readonly cacheSize?: number | undefined
  /** The claim `sub`; on verification, the only one accepted. */
  readonly subject?: string | undefined
  /** The claim `jti`; on verification, the only one accepted. Default: a random UUID. */
  readonly jwtid?: string | undefined
}

/** Options of a new token. */
export interface NewTokenOptions extends TokenOptions {
  /** The claim `iat`, in seconds since the epoch. Default: now. */
  readonly issuedAt?: number | undefined
}

/** Resolved token options: checked, with times in seconds. */
export interface TokenRules extends Pick<TokenOptions, 'subject' | 'jwtid'> {
  readonly algorithm: Algorithm
  readonly header: Readonly<Record<string, unknown>>
  readonly audience: string | readonly string[]
  readonly issuer: string
  readonly expiresIn: number
  readonly notBefore: number | undefined
  readonly maxLifetime: number
  readonly expiryTolerance: number
  readonly startTolerance: number
  readonly cacheSize: number
  /** Whether tokens need the claim `sub`. */
  readonly needsSubject: boolean
  /** The claim that separates the tokens of several services, `null` for the default service. */
  readonly authority: string | null
}

/** A span of time in settings. */
export const TIME_SPAN: OptionRule = {
  expected: "seconds or a string like '1d'",
  isValid: (value) => Number.isFinite(value) || isNonEmptyString(value),
}

/** Excludes `Infinity`: a token has to expire eventually. */
const FINITE: OptionRule = {
  expected: 'a number from 0 on',
  isValid: (value) => Number.isFinite(value) && Number(value) >= 0,
}

export const TOKEN_RULES: Readonly<Record<keyof TokenOptions, OptionRule>> = {
  header: {
    expected: "an object without 'alg', 'kid', 'crit' and 'b64', its 'typ' a non-empty string",
    // `alg` and `kid` follow from the key; `crit` and `b64` are extensions that are rejected here.
    isValid: (value) =>
      isPlainObject(value) &&
      isNonEmptyString(value['typ']) &&
      ['alg', 'kid', 'crit', 'b64'].every((key) => !Object.hasOwn(value, key)),
  },
  audience: AUTH_OPTION.stringOrList,
  issuer: OPTION.string,
  algorithm: {
    expected: `one of ${ALGORITHMS.join(', ')}`,
    isValid: (value) => ALGORITHMS.some((one) => one === value),
  },
  expiresIn: TIME_SPAN,
  notBefore: TIME_SPAN,
  maxLifetime: TIME_SPAN,
  clockTolerance: FINITE,
  cacheSize: FINITE,
  subject: OPTION.string,
  jwtid: OPTION.string,
}

const DEFAULT_START_TOLERANCE = 30
const DEFAULT_MAX_LIFETIME = 365 * 86_400
const DEFAULT_CACHE_SIZE = 1000

/**
 * Returns the rules for complete token options.
 * @param name how errors name the options, `'authentication.jwtOptions'`
 * @throws {TypeError} an option is unknown or invalid
 */
export function resolveTokenRules(
  options: TokenOptions,
  name: string,
  service: Pick<TokenRules, 'needsSubject' | 'authority'>,
): TokenRules {
  checkOptions(`the setting '${name}'`, options, TOKEN_RULES)
  const { header, audience, issuer, algorithm = 'HS256', subject, jwtid, clockTolerance } = options
  if (header === undefined || audience === undefined || issuer === undefined) {
    throw new SettingError(`'${name}' needs a header, an audience and an issuer`)
  }
  const expiresIn = parseTimeSpan(options.expiresIn, `${name}.expiresIn`)
  const longest = options.maxLifetime ?? Math.max(DEFAULT_MAX_LIFETIME, expiresIn)
  const maxLifetime = parseTimeSpan(longest, `${name}.maxLifetime`)
  if (expiresIn > maxLifetime) {
    throw new SettingError(`'${name}.expiresIn' is longer than '${name}.maxLifetime' allows`)
  }
  const start = options.notBefore
  return {
    ...{ header, audience, issuer, algorithm, subject, jwtid, expiresIn, maxLifetime },
    ...{ needsSubject: service.needsSubject, authority: service.authority },
    notBefore: start === undefined ? undefined : parseTimeSpan(start, `${name}.notBefore`),
    expiryTolerance: clockTolerance ?? 0,
    startTolerance: clockTolerance ?? DEFAULT_START_TOLERANCE,
    cacheSize: options.cacheSize ?? DEFAULT_CACHE_SIZE,
  }
}

const UNITS: readonly (readonly [names: RegExp, seconds: number])[] = [
  [/^(ms|msecs?|milliseconds?)$/, 0.001],
  [/^(s|secs?|seconds?)$/, 1],
  [/^(m|mins?|minutes?)$/, 60],
  [/^(h|hrs?|hours?)$/, 3600],
  [/^(d|days?)$/, 86_400],
  [/^(w|weeks?)$/, 604_800],
  [/^(y|yrs?|years?)$/, 31_557_600],
]

const SPAN_FORMAT = /^(-?\d{1,9}) ?([a-z]{1,12})$/

/**
 * Returns a span of time in whole seconds: numbers are seconds, strings are a number with a unit, as in `'90s'`,
 * `'15m'`, `'1d'` or `'2 weeks'`.
 * @param name how errors name the option
 * @throws {TypeError} neither a number nor such a string
 */
export function parseTimeSpan(span: unknown, name: string): number {
  if (typeof span === 'number' && Number.isFinite(span)) return Math.floor(span)
  const lowered = typeof span === 'string' ? span.toLowerCase() : ''
  const [, count, unit = ''] = SPAN_FORMAT.exec(lowered) ?? []
  const [, seconds] = UNITS.find(([names]) => names.test(unit)) ?? []
  if (seconds !== undefined) return Math.floor(Number(count) * seconds)
  throw new SettingError(
    `The '${name}' option is ${JSON.stringify(span)}: it takes seconds or a string like '15m' or '1d'`,
  )
}
