import { NotFound } from '../../core/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { createNotAuthenticated } from '../auth-errors.ts'
import type { Authentication } from '../authentication.ts'
import type { AuthenticationBaseStrategy } from '../strategies/base-strategy.ts'
import type { Algorithm } from '../tokens/token-key.ts'
import { toTokenKeys } from '../tokens/token-key.ts'
import { claimOnce, MemoryRevocationList } from '../tokens/token-revocation.ts'
import { OAuthProvider } from './provider/provider.ts'
import type { CodeContent } from './sealed/login-code.ts'
import { createLoginCode, redeemLoginCode } from './sealed/login-code.ts'
import type { OAuthSettings } from './settings/oauth-settings.ts'
import { findOAuthSettings } from './settings/oauth-settings.ts'
import { resolveProvider } from './settings/provider-settings.ts'

/** How many flows and codes one process remembers as used, where no list is shared. */
const MAX_USED = 100_000

/**
 * What one strategy has of the settings of its authentication service: its provider, and the secrets
 * that seal what it sends through browsers. A new setting takes effect with the next call.
 */
export class ProviderAccess {
  readonly authentication: Authentication
  /** The name of the strategy. */
  readonly name: string
  readonly #used = new MemoryRevocationList(MAX_USED)
  readonly #providers = new Map<string | null, OAuthProvider>()
  #oauth: Readonly<OAuthSettings> | null = null

  constructor(authentication: Authentication, name: string) {
    this.authentication = authentication
    this.name = name
  }

  /** The section `oauth`. */
  get oauth(): Readonly<OAuthSettings> {
    const { configKey, configuration } = this.authentication
    const settings = findOAuthSettings(configuration)
    if (settings === null || !Object.hasOwn(settings, this.name)) {
      throw new TypeError(
        `The strategy '${this.name}' needs the setting '${configKey}.oauth.${this.name}'`,
      )
    }
    return settings
  }

  /** The section of the provider, over the defaults. */
  get section(): Readonly<Record<string, unknown>> {
    const { oauth } = this
    return { ...oauth.defaults, ...(oauth[this.name] as object) }
  }

  /**
   * The secrets that seal; the first is the newest. Those of another authentication service differ
   * even if the settings are the same: the id in a code would be that of somebody else there.
   */
  get secrets(): readonly string[] {
    const { configKey, configuration } = this.authentication
    const { secret, jwtOptions } = configuration
    const keys = toTokenKeys(secret, jwtOptions.algorithm as Algorithm, `${configKey}.secret`)
    // A public key only verifies tokens, and is no secret.
    return keys.flatMap(({ signing }) => (signing === null ? [] : `${configKey} ${signing}`))
  }

  /**
   * Notes an id that is used once, in this process. Returns whether it was not used before.
   * @param exp from when on it is refused anyway, in seconds
   */
  claimHere(id: string, exp: number): Promise<boolean> {
    return claimOnce(this.#used, id, exp)
  }

  /**
   * Notes an id where all processes see it: in the list of revoked tokens, if there is one that is
   * not in memory. That would forget logouts when it is full, and anybody may begin logins.
   */
  async claimEverywhere(id: string, exp: number): Promise<boolean> {
    const list = this.authentication.revocationList
    if (list === null || list instanceof MemoryRevocationList) return true
    return claimOnce(list, id, exp)
  }

  /** @throws {TypeError} a setting of the provider, or of an override, is not valid */
  verify(): void {
    const { settings } = this.getProvider()
    const others = Object.keys(settings.overrides).map((name) => this.getProvider(name).settings)
    const { configKey, configuration } = this.authentication
    const givesCode = [settings, ...others].some((one) => one.givesCode)
    if (givesCode && !configuration.authStrategies.includes(this.name)) {
      throw new TypeError(
        `'${configKey}.authStrategies' must name '${this.name}': the codes of its logins are exchanged by it`,
      )
    }
  }

  /**
   * Returns the provider.
   * @param override the name of a set of other settings, `null` for none
   * @throws {NotFound} there is no such set
   */
  getProvider(override: string | null = null): OAuthProvider {
    const { oauth } = this
    if (this.#oauth !== oauth) this.#providers.clear()
    this.#oauth = oauth
    const known = this.#providers.get(override)
    if (known !== undefined) return known
    const { configKey } = this.authentication
    const place = `${configKey}.oauth.${this.name}`
    const base = resolveProvider(place, oauth, this.name)
    // Names come from callers: what is kept for each of them must not grow with what they think of.
    if (override !== null && !Object.hasOwn(base.overrides, override)) {
      throw new NotFound(`There are no settings '${override}' for ${this.name}`)
    }
    const settings =
      override === null
        ? base
        : resolveProvider(
            `${place}.overrides.${override}`,
            oauth,
            this.name,
            base.overrides[override],
          )
    const provider = new OAuthProvider(settings)
    this.#providers.set(override, provider)
    return provider
  }

  /** Returns a code for an entity that has logged in. */
  createCode(id: string): Promise<string> {
    return createLoginCode({ strategy: this.name, id }, this.secrets)
  }

  /**
   * Returns who a code stands for, the first time.
   * @throws {NotAuthenticated} it is none, was used or is too old
   */
  redeem(code: unknown): Promise<CodeContent> {
    if (!isNonEmptyString(code)) throw createNotAuthenticated('The code must be a string')
    return redeemLoginCode(code, this)
  }
}

const ACCESSES = new WeakMap<Registered, ProviderAccess>()

/** What is read of a strategy. */
type Registered = Pick<AuthenticationBaseStrategy, 'authentication' | 'name'>

/** Returns what a strategy has of the settings: the same each time. */
export function getAccess(strategy: Registered): ProviderAccess {
  const known = ACCESSES.get(strategy)
  if (known !== undefined) return known
  const access = new ProviderAccess(strategy.authentication, strategy.name)
  ACCESSES.set(strategy, access)
  return access
}
