import type { SettingsObject } from '../settings-merge.ts'
import { isPlainObject } from '../settings-merge.ts'
import { isText, isTextOrList } from '../value-kind.ts'
import { toSeconds } from './time-span.ts'
import type { Algorithm } from './token-key.ts'
import { ALGORITHMS, isAlgorithm } from './token-key.ts'

/** The setting `jwtOptions`, and what single calls may say otherwise. */
export interface TokenOptions {
  /** Further header parameters; `typ` is checked on every token. Default: `{ typ: 'access' }`. */
  readonly header?: Readonly<Record<string, unknown>> | undefined
  /** Who the tokens are for. Default: `'https://yourdomain.com'`. */
  readonly audience?: string | readonly string[] | undefined
  /** Who issues the tokens. Default: `'feathers'`. */
  readonly issuer?: string | undefined
  /** The one algorithm that is signed with and accepted. Default: `'HS256'`. */
  readonly algorithm?: Algorithm | undefined
  /** How long tokens live: seconds, or a text like `'12h'`. Default: `'1d'`. */
  readonly expiresIn?: number | string | undefined
  /** From when on tokens are valid: seconds from now, or a text. Default: at once. */
  readonly notBefore?: number | string | undefined
  /** Tokens that live longer are refused. Default: `'365d'`, or `expiresIn` if that is longer. */
  readonly maxLifetime?: number | string | undefined
  /** Seconds that clocks may differ. Default: 30 for `iat` and `nbf`, none for `exp`. */
  readonly clockTolerance?: number | undefined
  /** How many verified tokens are remembered; 0 for none. Default: 1000. */
  readonly cacheSize?: number | undefined
  /** The claim `sub`; on verification, the only one accepted. */
  readonly subject?: string | undefined
  /** The claim `jti`; on verification, the only one accepted. Default: a random UUID. */
  readonly jwtid?: string | undefined
}

/** Token options as they are used: checked, with times in seconds and lists as lists. */
export interface TokenRules {
  readonly algorithm: Algorithm
  readonly header: Readonly<Record<string, unknown>>
  /** As it is written into tokens. */
  readonly audience: string | readonly string[]
  readonly audiences: readonly string[]
  readonly issuer: string
  readonly expiresIn: number
  readonly notBefore: number | null
  readonly maxLifetime: number
  readonly expiryTolerance: number
  readonly startTolerance: number
  readonly cacheSize: number
  readonly subject: string | null
  readonly jwtid: string | null
  /** Whether tokens need the claim `sub`. */
  readonly needsSubject: boolean
  /** The claim that keeps tokens of several services apart, `null` for the default service. */
  readonly authority: string | null
}

const CHECKS: Readonly<Record<keyof TokenOptions, (value: unknown) => boolean>> = {
  header: isHeader,
  audience: isTextOrList,
  issuer: isText,
  algorithm: isAlgorithm,
  expiresIn: isSpan,
  notBefore: isSpan,
  maxLifetime: isSpan,
  clockTolerance: isCount,
  cacheSize: isCount,
  subject: isText,
  jwtid: isText,
}

const EXPECTED: Readonly<Record<keyof TokenOptions, string>> = {
  header: "an object without 'alg', 'kid', 'crit' and 'b64', its 'typ' a text",
  audience: 'a text or a list of texts',
  issuer: 'a text',
  algorithm: `one of ${ALGORITHMS.join(', ')}`,
  expiresIn: "seconds or a text like '1d'",
  notBefore: "seconds or a text like '1d'",
  maxLifetime: "seconds or a text like '1d'",
  clockTolerance: 'a number of seconds, 0 or more',
  cacheSize: 'a number, 0 or more',
  subject: 'a text',
  jwtid: 'a text',
}

const DEFAULT_START_TOLERANCE = 30
const DEFAULT_MAX_LIFETIME = 365 * 86_400
const DEFAULT_CACHE_SIZE = 1000

/**
 * Returns the rules that follow from complete token options.
 * @param name how errors name the options, `'authentication.jwtOptions'`
 * @throws {TypeError} an unknown option, or a value that is not allowed
 */
export function resolveTokenRules(
  options: SettingsObject,
  name: string,
  { needsSubject, authority }: Pick<TokenRules, 'needsSubject' | 'authority'>,
): TokenRules {
  checkTokenOptions(options, name)
  const { header, audience, issuer, algorithm, notBefore, clockTolerance, cacheSize } =
    options as TokenOptions
  if (header === undefined || audience === undefined || issuer === undefined) {
    throw new TypeError(`'${name}' needs a header, an audience and an issuer`)
  }
  const expiresIn = toSeconds(options['expiresIn'], `${name}.expiresIn`)
  const longest = options['maxLifetime'] ?? Math.max(DEFAULT_MAX_LIFETIME, expiresIn)
  const maxLifetime = toSeconds(longest, `${name}.maxLifetime`)
  if (expiresIn > maxLifetime) {
    throw new TypeError(`'${name}.expiresIn' is longer than '${name}.maxLifetime' allows`)
  }
  return {
    algorithm: algorithm ?? 'HS256',
    header,
    audience,
    audiences: [audience].flat(),
    issuer,
    expiresIn,
    notBefore: notBefore === undefined ? null : toSeconds(notBefore, `${name}.notBefore`),
    maxLifetime,
    expiryTolerance: clockTolerance ?? 0,
    startTolerance: clockTolerance ?? DEFAULT_START_TOLERANCE,
    cacheSize: cacheSize ?? DEFAULT_CACHE_SIZE,
    subject: (options as TokenOptions).subject ?? null,
    jwtid: (options as TokenOptions).jwtid ?? null,
    needsSubject,
    authority,
  }
}

function checkTokenOptions(options: SettingsObject, name: string): void {
  for (const [key, value] of Object.entries(options)) {
    if (!isOptionName(key)) {
      const allowed = Object.keys(CHECKS).join(', ')
      throw new TypeError(`Unknown option '${name}.${key}': allowed are ${allowed}`)
    }
    if (value !== undefined && !CHECKS[key](value)) {
      throw new TypeError(`The option '${name}.${key}' must be ${EXPECTED[key]}`)
    }
  }
}

function isOptionName(key: string): key is keyof TokenOptions {
  return Object.hasOwn(CHECKS, key)
}

function isSpan(value: unknown): boolean {
  return typeof value === 'number' ? Number.isFinite(value) : isText(value)
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** `alg` and `kid` follow from the key; `crit` and `b64` are extensions that are refused here. */
function isHeader(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    isText(value['typ']) &&
    ['alg', 'kid', 'crit', 'b64'].every((key) => !Object.hasOwn(value, key))
  )
}
