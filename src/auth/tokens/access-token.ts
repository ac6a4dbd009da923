import type { KeyObject } from 'node:crypto'
import { createHmac, createSecretKey, randomUUID, timingSafeEqual } from 'node:crypto'
import { createDecoder, createSigner, createVerifier } from 'fast-jwt'
import { ArgumentError, SettingError } from '../../core/errors/setup-errors.ts'
import { runWithoutStack } from '../auth-errors.ts'
import { BoundedMap } from '../bounded-map.ts'
import { freezeDeep, mergeSettings } from '../settings-values.ts'
import type { AccessTokenPayload, Claims } from './token-claims.ts'
import { AUTHORITY_CLAIM, checkClaims, checkTimes, createTokenError } from './token-claims.ts'
import { readTokenKeys } from './token-key.ts'
import type { NewTokenOptions, TokenOptions, TokenRules } from './token-options.ts'
import { resolveTokenRules } from './token-options.ts'

/** Longer than any request header can be; longer strings are rejected unread. */
const MAX_TOKEN_LENGTH = 8192

/** Base64url whose unused last bits are 0: any other spelling has the same bytes. */
const SEGMENT = String.raw`(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?`

/** Three segments, each in the only valid spelling of its bytes, so that no token has two spellings. */
const CANONICAL = new RegExp(String.raw`^${SEGMENT}\.${SEGMENT}\.${SEGMENT}$`)

/** The messages for callers, by the error code of the library; any other error means a malformed token. */
const MESSAGES: Readonly<Record<string, string>> = {
  FAST_JWT_MISSING_SIGNATURE: 'jwt signature is required',
  FAST_JWT_INVALID_ALGORITHM: 'invalid algorithm',
  FAST_JWT_INVALID_TYPE: 'invalid typ',
  FAST_JWT_INVALID_CRIT_HEADER: 'invalid crit',
  FAST_JWT_INVALID_PAYLOAD: 'invalid token',
  FAST_JWT_VERIFY_ERROR: 'invalid signature',
}

const decode = createDecoder({ complete: true })

/** Returns the claims of a token without checking anything. For tokens that were just created. */
export function decodeClaims(token: string): Record<string, unknown> {
  return decode(token).payload as Record<string, unknown>
}

/** The settings for signing and verifying tokens. */
interface TokenSettings {
  /** One key, or a list whose first key signs and all verify. */
  readonly secret?: unknown
  readonly jwtOptions: TokenOptions
  readonly entity?: string | null
}

/** Tokens of the service with this key do not name their service: usually there is only one. */
const DEFAULT_KEY = 'authentication'

/** How many issuers are kept for calls with custom options or secrets. */
const MAX_VARIANTS = 100

/**
 * Signs and verifies the tokens of one configuration, and of calls that deviate from it. Keys are read once, and tokens
 * that were verified before are recognised without computing their signature again.
 */
export class TokenIssuer {
  readonly #settings: TokenSettings
  readonly #configKey: string
  readonly #rules: TokenRules
  readonly #sign: (claims: Claims) => string
  /** One verifier per key, by the `kid` that tokens name. */
  readonly #verifiers: ReadonlyMap<unknown, SignatureVerifier>
  readonly #verified: BoundedMap<string, AccessTokenPayload> | null
  readonly #variants = new BoundedMap<string, TokenIssuer>(MAX_VARIANTS)

  /**
   * @param configKey how errors name the configuration
   * @param options override those of the settings
   * @param secret replaces that of the settings
   * @throws {TypeError} the secret or an option is invalid
   */
  constructor(
    settings: TokenSettings,
    configKey: string,
    options: TokenOptions = {},
    secret?: unknown,
  ) {
    const name = `${configKey}.jwtOptions`
    const rules = resolveTokenRules(mergeSettings(settings.jwtOptions, options), name, {
      needsSubject: settings.entity !== null,
      authority: configKey === DEFAULT_KEY ? null : configKey,
    })
    // Single calls may ask for such a token, for example in a test of what happens after it expires.
    if (options.expiresIn === undefined && rules.expiresIn < 1) {
      throw new SettingError(
        `'${name}.expiresIn' must be at least a second: tokens would expire at once`,
      )
    }
    const { algorithm, header, cacheSize } = rules
    const keys =
      secret === undefined
        ? readTokenKeys(settings.secret, algorithm, `${configKey}.secret`)
        : readTokenKeys(secret, algorithm, 'secret')
    const [{ kid, signing }] = keys
    // Named only if there are several keys: many programs that read tokens expect only `alg` and `typ`.
    const fullHeader = { alg: algorithm, ...header, ...(keys.length > 1 ? { kid } : {}) }
    this.#settings = settings
    this.#configKey = configKey
    this.#rules = rules
    this.#sign = createSigner({ key: signing, algorithm, header: fullHeader })
    const createVerify = algorithm.startsWith('HS') ? createSecretVerifier : createKeyVerifier
    this.#verifiers = new Map(keys.map((key) => [key.kid, createVerify(key.verifying, rules)]))
    this.#verified = cacheSize < 2 ? null : new BoundedMap(cacheSize)
  }

  /**
   * Returns a token with these claims and those that the options require.
   * @throws {TypeError} an option is invalid, or the token would be rejected, as a claim is missing or of the wrong
   *   type
   */
  sign(payload: object, options: NewTokenOptions = {}, secret?: unknown): string {
    const { subject, jwtid, issuedAt, ...others } = options
    const issuer = this.#find(others, secret)
    const rules = issuer.#rules
    const { [AUTHORITY_CLAIM]: _reserved, ...own } = payload as Claims
    const iat = issuedAt ?? Math.floor(Date.now() / 1000)
    const claims = {
      ...own,
      iat,
      exp: iat + rules.expiresIn,
      ...(rules.notBefore === undefined ? {} : { nbf: iat + rules.notBefore }),
      aud: rules.audience,
      iss: rules.issuer,
      ...(subject == null ? {} : { sub: subject }),
      jti: jwtid ?? randomUUID(),
      ...(rules.authority === null ? {} : { [AUTHORITY_CLAIM]: rules.authority }),
    }
    try {
      checkClaims(claims, rules)
    } catch (error) {
      const { message } = error as Error
      throw new ArgumentError(`A token with these claims would be rejected: ${message}`)
    }
    return issuer.#sign(claims)
  }

  /**
   * Returns the claims of a token.
   * @throws {NotAuthenticated} it is malformed, forged, expired or not valid under these options
   */
  verify(token: unknown, options?: TokenOptions, secret?: unknown): AccessTokenPayload {
    if (token === undefined || token === null || token === '') {
      throw createTokenError('jwt must be provided')
    }
    if (typeof token !== 'string') throw createTokenError('jwt must be a string')
    const isStandard = options === undefined && secret === undefined
    return (isStandard ? this : this.#find(options ?? {}, secret)).#verify(token)
  }

  #verify(token: string): AccessTokenPayload {
    const known = this.#verified?.get(token)
    const claims = known ?? this.#verifyNew(token)
    checkTimes(claims, this.#rules)
    if (known === undefined) this.#verified?.set(token, claims)
    return claims
  }

  #verifyNew(token: string): AccessTokenPayload {
    if (token.length > MAX_TOKEN_LENGTH || !CANONICAL.test(token)) {
      throw createTokenError('jwt malformed')
    }
    for (const verify of this.#findVerifiers(token)) {
      const claims = verify(token)
      if (claims === null) continue
      checkClaims(claims, this.#rules)
      return freezeDeep(claims)
    }
    throw createTokenError('invalid signature')
  }

  /** A token without `kid` was signed while there was only one key, which may be any of the current ones. */
  #findVerifiers(token: string): Iterable<SignatureVerifier> {
    const all = this.#verifiers
    if (all.size === 1) return all.values()
    const { header } = decodeToken(token)
    if (!Object.hasOwn(header, 'kid')) return all.values()
    const named = all.get(header['kid'])
    if (named === undefined) throw createTokenError('unknown key')
    return [named]
  }

  /** Returns the issuer for the options and the secret of a call. */
  #find(options: TokenOptions, secret: unknown): TokenIssuer {
    const isStandard = Object.values(options).every((value) => value === undefined)
    if (isStandard && secret === undefined) return this
    const key = JSON.stringify([options, secret ?? null])
    const known = this.#variants.get(key)
    if (known !== undefined) return known
    // A call may set a longer `maxLifetime`; its tokens are verified only with the same option.
    const all = mergeSettings({ maxLifetime: this.#rules.maxLifetime }, options)
    const issuer = new TokenIssuer(this.#settings, this.#configKey, all, secret)
    this.#variants.set(key, issuer)
    return issuer
  }
}

/**
 * Checks type, algorithm and signature of a token with one key. Returns the claims of the token, `null` if the
 * signature is not by this key. Claims are checked later, also for cached tokens.
 * @throws {NotAuthenticated} the token is malformed, or has another type or algorithm
 */
type SignatureVerifier = (token: string) => Claims | null

function createKeyVerifier(
  verifying: string,
  { algorithm, header }: TokenRules,
): SignatureVerifier {
  const verify: (token: string) => Claims = createVerifier({
    key: verifying,
    algorithms: [algorithm],
    checkTyp: String(header['typ']),
    ignoreExpiration: true,
    ignoreNotBefore: true,
  })
  return (token) => {
    try {
      return runWithoutStack(() => verify(token))
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (code === 'FAST_JWT_INVALID_SIGNATURE') return null
      throw createTokenError(MESSAGES[String(code)] ?? 'jwt malformed', error)
    }
  }
}

/**
 * Returns a verifier that computes the signature before it reads anything in the token. The library would read a forged
 * token first and create several errors, at twice the cost of accepting a valid one.
 */
function createSecretVerifier(
  secret: string,
  { algorithm, header }: TokenRules,
): SignatureVerifier {
  const key = createSecretKey(secret, 'utf8')
  const digest = algorithm.replace('HS', 'sha')
  const type = toComparedType(String(header['typ']))
  return (token) => {
    if (!isSigned(token, key, digest)) return null
    const { header: own, payload } = decodeToken(token)
    const { alg, crit, typ } = own
    if (alg !== algorithm) throw createTokenError('invalid algorithm')
    // Critical extensions must be understood, and none is supported. See RFC 7515 §4.1.11
    if (crit) throw createTokenError('invalid crit')
    if (typeof typ !== 'string' || toComparedType(typ) !== type)
      throw createTokenError('invalid typ')
    return payload
  }
}

/** Returns a type in the form for comparison: it may be written as a media type. See RFC 7515 §4.1.9 */
function toComparedType(type: string): string {
  return type.toLowerCase().replace(/^application\//, '')
}

function decodeToken(token: string): { header: Record<string, unknown>; payload: Claims } {
  try {
    return runWithoutStack(() => decode(token))
  } catch (error) {
    const { code } = error as { code?: unknown }
    throw createTokenError(MESSAGES[String(code)] ?? 'jwt malformed', error)
  }
}

function isSigned(token: string, key: KeyObject, digest: string): boolean {
  const end = token.lastIndexOf('.')
  const expected = createHmac(digest, key).update(token.slice(0, end)).digest()
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  return signature.length === expected.length && timingSafeEqual(signature, expected)
}
