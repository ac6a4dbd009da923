import { BoundedMap } from '../bounded-map.ts'
import { mergeSettings } from '../settings-merge.ts'
import { AccessTokens } from './access-token.ts'
import type { AccessTokenPayload } from './token-claims.ts'
import { createTokenError } from './token-claims.ts'
import { toTokenKeys } from './token-key.ts'
import type { TokenOptions, TokenRules } from './token-options.ts'
import { resolveTokenRules } from './token-options.ts'

/** How many sets of keys and rules are kept, for calls with options or secrets of their own. */
const MAX_VARIANTS = 100

/** The part of a configuration that tokens are signed and verified by. */
export interface TokenSettings extends Pick<TokenRules, 'needsSubject' | 'authority'> {
  /** One key, or a list of which the first signs and all verify. */
  readonly secret: unknown
  readonly jwtOptions: TokenOptions
}

/** Signs and verifies the tokens of one configuration, and of calls that deviate from it. */
export class TokenIssuer {
  readonly #settings: TokenSettings
  readonly #configKey: string
  /** How long tokens may live unless a call says otherwise, in seconds. */
  #maxLifetime: number | undefined
  readonly #standard: AccessTokens
  readonly #variants = new BoundedMap<string, AccessTokens>(MAX_VARIANTS)

  /**
   * @param configKey how errors name the configuration
   * @throws {TypeError} the secret or an option is not allowed
   */
  constructor(settings: TokenSettings, configKey: string) {
    this.#settings = settings
    this.#configKey = configKey
    this.#standard = this.#createTokens({}, undefined)
  }

  /**
   * Returns a token with these claims.
   * @throws {TypeError} an option is not valid, or the token would be refused
   */
  sign(payload: object, options: TokenOptions = {}, secret?: unknown): string {
    const { subject, jwtid, ...others } = options
    const claims = payload as Record<string, unknown>
    return this.#find(others, secret).sign(claims, subject ?? null, jwtid ?? null)
  }

  /** @throws {NotAuthenticated} the token is not valid under these options */
  verify(token: unknown, options?: TokenOptions, secret?: unknown): AccessTokenPayload {
    if (token === undefined || token === null || token === '') {
      throw createTokenError('jwt must be provided')
    }
    if (options === undefined && secret === undefined) return this.#standard.verify(token)
    return this.#find(options ?? {}, secret).verify(token)
  }

  #find(options: TokenOptions, secret: unknown): AccessTokens {
    const isStandard = Object.values(options).every((value) => value === undefined)
    if (isStandard && secret === undefined) return this.#standard
    const key = JSON.stringify([options, secret ?? null])
    const known = this.#variants.get(key)
    if (known !== undefined) return known
    const tokens = this.#createTokens(options, secret)
    this.#variants.set(key, tokens)
    return tokens
  }

  #createTokens(options: TokenOptions, secret: unknown): AccessTokens {
    const settings = this.#settings
    const name = `${this.#configKey}.jwtOptions`
    const rules = resolveTokenRules(
      // A call may set a longer `maxLifetime`; its tokens are verified only with the same option.
      mergeSettings(settings.jwtOptions, { maxLifetime: this.#maxLifetime }, options),
      name,
      settings,
    )
    // A call may ask for such a token, a test of what happens after it for example.
    if (options.expiresIn === undefined && rules.expiresIn < 1) {
      throw new TypeError(`'${name}.expiresIn' must be at least a second: nobody could log in`)
    }
    this.#maxLifetime ??= rules.maxLifetime
    const isOwn = secret === undefined
    const keys = toTokenKeys(
      isOwn ? settings.secret : secret,
      rules.algorithm,
      isOwn ? `${this.#configKey}.secret` : 'secret',
    )
    return new AccessTokens(keys, rules)
  }
}
