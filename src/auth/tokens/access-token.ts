import { createHmac, createSecretKey, randomUUID, timingSafeEqual } from 'node:crypto'
import { createSigner, createVerifier } from 'fast-jwt'
import { isObject } from '../../core/value-kind.ts'
import { runWithoutStack } from '../auth-errors.ts'
import { BoundedMap } from '../bounded-map.ts'
import { freezeDeep } from '../settings-merge.ts'
import type { AccessTokenPayload } from './token-claims.ts'
import { AUTHORITY_CLAIM, checkClaims, checkTimes, createTokenError } from './token-claims.ts'
import type { TokenKey } from './token-key.ts'
import type { TokenRules } from './token-options.ts'

type Claims = Record<string, unknown>

/** What verifies the tokens of one key. */
interface Verifier {
  /** Checks type, algorithm and signature of a token and returns its claims, or throws. */
  readonly verify: (token: string) => Claims
  /**
   * Whether the signature is of this key; `null` for key pairs, where `verify` finds out as fast.
   */
  readonly isSigned: ((token: string) => boolean) | null
}

/** No header of a request is longer; a longer string is refused unread. */
const MAX_TOKEN_LENGTH = 8192

/** What callers are told, by the code of the library's error; every other token is malformed. */
const MESSAGES: Readonly<Record<string, string>> = {
  FAST_JWT_MISSING_SIGNATURE: 'jwt signature is required',
  FAST_JWT_INVALID_ALGORITHM: 'invalid algorithm',
  FAST_JWT_INVALID_TYPE: 'invalid typ',
  FAST_JWT_INVALID_CRIT_HEADER: 'invalid crit',
  FAST_JWT_INVALID_PAYLOAD: 'invalid token',
  FAST_JWT_VERIFY_ERROR: 'invalid signature',
}

/**
 * Signs and verifies the access tokens of one set of keys and rules. The keys are read once, and
 * tokens that were verified before are recognised without computing their signature anew.
 */
export class AccessTokens {
  readonly #rules: TokenRules
  readonly #sign: (claims: Claims) => string
  readonly #verifiers: ReadonlyMap<string, Verifier>
  /** How every token begins that is signed here: a header that needs no second reading. */
  readonly #ownHeader: string
  readonly #verified: BoundedMap<string, AccessTokenPayload> | null

  /** @throws {Error} a key does not fit the algorithm */
  constructor(keys: readonly TokenKey[], rules: TokenRules) {
    const { algorithm, header, cacheSize } = rules
    this.#rules = rules
    this.#sign = toSigner(keys, rules)
    this.#ownHeader = toHeader(this.#sign({}))
    this.#verifiers = new Map(
      keys.map(({ kid, verifying }) => {
        // The times and the other claims are checked here, on tokens out of the cache too.
        const verify: Verifier['verify'] = createVerifier({
          key: verifying,
          algorithms: [algorithm],
          checkTyp: String(header['typ']),
          ignoreExpiration: true,
          ignoreNotBefore: true,
        })
        return [kid, { verify, isSigned: toSignatureCheck(verifying, algorithm) }]
      }),
    )
    this.#verified = cacheSize < 2 ? null : new BoundedMap(cacheSize)
  }

  /**
   * Returns a token with these claims and those that the rules demand.
   * @throws {TypeError} the token would be refused, as a claim is missing or of another type
   */
  sign(payload: Readonly<Claims>, subject: string | null, jwtid: string | null): string {
    const rules = this.#rules
    const { [AUTHORITY_CLAIM]: _reserved, ...own } = payload
    const iat = Math.floor(Date.now() / 1000)
    const claims = {
      ...own,
      iat,
      exp: iat + rules.expiresIn,
      ...(rules.notBefore === null ? {} : { nbf: iat + rules.notBefore }),
      aud: rules.audience,
      iss: rules.issuer,
      ...(subject === null ? {} : { sub: subject }),
      jti: jwtid ?? randomUUID(),
      ...(rules.authority === null ? {} : { [AUTHORITY_CLAIM]: rules.authority }),
    }
    checkSigned(claims, rules)
    return this.#sign(claims)
  }

  /**
   * Returns the claims of a token.
   * @throws {NotAuthenticated} it is malformed, forged, expired or not for this service
   */
  verify(token: unknown): AccessTokenPayload {
    if (typeof token !== 'string') throw createTokenError('jwt must be a string')
    const known = this.#verified?.get(token)
    const claims = known ?? runWithoutStack(() => this.#verifyNew(token))
    checkTimes(claims, this.#rules)
    if (known === undefined) this.#verified?.set(token, claims)
    return claims
  }

  #verifyNew(token: string): AccessTokenPayload {
    if (token.length > MAX_TOKEN_LENGTH || !CANONICAL.test(token)) {
      throw createTokenError('jwt malformed')
    }
    const claims = this.#checkSignature(token)
    checkClaims(claims, this.#rules)
    return freezeDeep(claims)
  }

  /** A token that names no key was signed while there was only one, which may be any of today's. */
  #checkSignature(token: string): Claims {
    const kid = this.#verifiers.size === 1 ? undefined : readKeyId(token)
    const named = typeof kid === 'string' ? this.#verifiers.get(kid) : undefined
    if (kid !== undefined && named === undefined) throw createTokenError('unknown key')
    const candidates = named === undefined ? [...this.#verifiers.values()] : [named]
    for (const { isSigned, verify } of candidates) {
      if (isSigned?.(token) === false) continue
      // The library would compute the signature a second time.
      if (isSigned !== null && toHeader(token) === this.#ownHeader) return readClaims(token)
      try {
        return verify(token)
      } catch (error) {
        const { code } = error as { code?: unknown }
        if (code === 'FAST_JWT_INVALID_SIGNATURE') continue
        throw createTokenError(MESSAGES[String(code)] ?? 'jwt malformed', error)
      }
    }
    throw createTokenError('invalid signature')
  }
}

/** Returns the first segment of a token: its header, encoded. */
function toHeader(token: string): string {
  return token.slice(0, token.indexOf('.'))
}

/** @throws {NotAuthenticated} the claims are no JSON object */
function readClaims(token: string): Claims {
  let claims: unknown
  try {
    claims = decodeClaims(token)
  } catch (error) {
    throw createTokenError('jwt malformed', error)
  }
  if (!isObject(claims) || Array.isArray(claims)) throw createTokenError('invalid token')
  return claims
}

/** Checks the claims of a new token as those of a token that comes in: it must not be refused. */
function checkSigned(claims: Claims, rules: TokenRules): void {
  try {
    checkClaims(claims, rules)
  } catch (error) {
    const { message } = error as Error
    throw new TypeError(`A token with these claims would be refused: ${message}`)
  }
}

/** Returns the claims of a token without checking anything. For tokens that were made just now. */
export function decodeClaims(token: string): Record<string, unknown> {
  const [, payload = ''] = token.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
}

function toSigner(keys: readonly TokenKey[], rules: TokenRules): (claims: Claims) => string {
  const [{ kid, signing } = { kid: '', signing: null }] = keys
  if (signing === null) throw new TypeError('The first key must be one that can sign')
  const { algorithm, header } = rules
  // Named only where there are several: many programs that read tokens expect `alg` and `typ`
  // alone.
  const name = keys.length > 1 ? { kid } : {}
  return createSigner({ key: signing, algorithm, header: { alg: algorithm, ...header, ...name } })
}

/**
 * Returns a check of the signature by a secret, which is done before the library verifies a
 * token: for a forged one the library makes several errors, at four times the cost of accepting
 * a valid one.
 */
function toSignatureCheck(secret: string, algorithm: string): Verifier['isSigned'] {
  if (!algorithm.startsWith('HS')) return null
  const key = createSecretKey(secret, 'utf8')
  const digest = algorithm.replace('HS', 'sha')
  return (token) => {
    const end = token.lastIndexOf('.')
    const expected = createHmac(digest, key).update(token.slice(0, end)).digest()
    const signature = Buffer.from(token.slice(end + 1), 'base64url')
    return signature.length === expected.length && timingSafeEqual(signature, expected)
  }
}

/** Returns the name of the key in the header, `undefined` when there is none. */
function readKeyId(token: string): unknown {
  try {
    const header: unknown = JSON.parse(Buffer.from(toHeader(token), 'base64url').toString())
    return isObject(header) && Object.hasOwn(header, 'kid') ? header['kid'] : undefined
  } catch (error) {
    throw createTokenError('jwt malformed', error)
  }
}

/** Base64url of which the bits after the last byte are 0: any other spelling has the same bytes. */
const SEGMENT = String.raw`(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?`

/** Three segments of which each is the only way to write its bytes: no token has two spellings. */
const CANONICAL = new RegExp(String.raw`^${SEGMENT}\.${SEGMENT}\.${SEGMENT}$`)
