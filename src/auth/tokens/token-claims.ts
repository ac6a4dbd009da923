import { InvalidToken, TokenExpired } from '../../core/errors/coded-errors.ts'
import { isKeyString, isNonEmptyString } from '../../core/value-kind.ts'
import { isStringOrList } from '../settings-values.ts'
import type { TokenRules } from './token-options.ts'

/** The claims of a verified access token. Frozen, as all callers with this token share them. */
export interface AccessTokenPayload {
  /** When it was issued, in seconds since the epoch. */
  readonly iat: number
  /** When it expires, in seconds since the epoch. */
  readonly exp: number
  /** When it becomes valid, in seconds since the epoch. */
  readonly nbf?: number
  /** The audience of the token. */
  readonly aud: string | readonly string[]
  /** Who issued the token. */
  readonly iss: string
  /** The id of the entity as a string; optional for services without an entity. */
  readonly sub?: string
  /** The id of the token, by which a logout revokes it. */
  readonly jti: string
  readonly [claim: string]: unknown
}

/** The claims of a token, unchecked. */
export type Claims = Readonly<Record<string, unknown>>

/** Names the service that issued a token, unless it is the default one. */
export const AUTHORITY_CLAIM = 'auth_service'

/** The checks of known claims; all other claims belong to the application. */
const CLAIM_TYPES: readonly (readonly [name: string, isValid: (value: unknown) => boolean])[] = [
  ['exp', isNumericDate],
  ['iat', isNumericDate],
  ['nbf', isNumericDate],
  ['sub', isKeyString],
  ['jti', isKeyString],
  ['iss', isNonEmptyString],
  ['aud', isStringOrList],
]

const REQUIRED_CLAIMS = ['exp', 'iat', 'aud', 'iss', 'jti'] as const
const REQUIRED_WITH_SUBJECT = [...REQUIRED_CLAIMS, 'sub'] as const

/**
 * Checks everything about the claims of a token that does not depend on the time.
 * @throws {NotAuthenticated} a claim is missing, of the wrong type, or for another service
 */
export function checkClaims(
  claims: Claims,
  rules: TokenRules,
): asserts claims is AccessTokenPayload {
  for (const name of rules.needsSubject ? REQUIRED_WITH_SUBJECT : REQUIRED_CLAIMS) {
    if (!Object.hasOwn(claims, name)) throw createTokenError(`jwt ${name} claim is required`)
  }
  for (const [name, isValid] of CLAIM_TYPES) {
    if (Object.hasOwn(claims, name) && !isValid(claims[name])) {
      throw createTokenError(`invalid ${name} value`)
    }
  }
  const { exp, iat, aud, iss, sub, jti } = claims as AccessTokenPayload
  if (exp - iat > rules.maxLifetime) throw createTokenError('jwt lifetime is too long')
  const audiences = [rules.audience].flat()
  if (aud !== rules.audience && ![aud].flat().some((one) => audiences.includes(one))) {
    throw createTokenError('jwt audience invalid')
  }
  if (iss !== rules.issuer) throw createTokenError('jwt issuer invalid')
  if ((claims[AUTHORITY_CLAIM] ?? null) !== rules.authority) {
    throw createTokenError('jwt is for another service')
  }
  if (rules.subject !== undefined && sub !== rules.subject) {
    throw createTokenError('jwt subject invalid')
  }
  if (jti !== (rules.jwtid ?? jti)) throw createTokenError('jwt jwtid invalid')
}

/**
 * Checks the times of a token, which is necessary on every use.
 * @throws {NotAuthenticated} it has expired, is not valid yet, or was issued in the future
 */
export function checkTimes(claims: AccessTokenPayload, rules: TokenRules): void {
  // The wall clock: times in a token are calendar times and may come from another machine.
  const now = Date.now() / 1000
  if (now >= claims.exp + rules.expiryTolerance) {
    const expiredAt = new Date(claims.exp * 1000).toISOString()
    throw new TokenExpired('jwt expired', { name: 'TokenExpiredError', expiredAt })
  }
  const latestStart = now + rules.startTolerance
  if (claims.nbf !== undefined && claims.nbf > latestStart) {
    const date = new Date(claims.nbf * 1000).toISOString()
    throw new InvalidToken('jwt not active', { name: 'NotBeforeError', date })
  }
  if (claims.iat > latestStart) throw createTokenError('jwt was issued in the future')
}

/** Returns the error for a token that is invalid at any time. */
export function createTokenError(message: string, cause?: unknown): Error {
  const options = cause === undefined ? undefined : { cause }
  return new InvalidToken(message, { name: 'JsonWebTokenError' }, options)
}

/** Returns whether a value is a whole number of seconds that a date can hold. */
function isNumericDate(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 8.64e12
}
