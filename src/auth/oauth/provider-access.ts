import { NotAuthenticated, NotFound } from '../../core/index.ts'
import { deriveKey } from '../../core/secrets/secret.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'
import type { Authentication } from '../authentication.ts'
import { openData, sealData } from '../tokens/sealed-data.ts'
import type { Algorithm } from '../tokens/token-key.ts'
import { readTokenKeys } from '../tokens/token-key.ts'
import { claimOnce, MemoryRevocationList } from '../tokens/token-revocation.ts'
import { OAuthProvider } from './provider/provider.ts'
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
  /** By the name of the override, `null` for none; made anew of each state of the settings. */
  #providers: ReadonlyMap<string | null, OAuthProvider> = new Map()
  #oauth: Readonly<OAuthSettings> | null = null

  constructor(authentication: Authentication, name: string) {
    this.authentication = authentication
    this.name = name
  }

  /** The name of the setting that is the section of the provider. */
  get place(): string {
    return `${this.authentication.configKey}.oauth.${this.name}`
  }

  /** Whether the provider has a section. */
  get hasSection(): boolean {
    const settings = findOAuthSettings(this.authentication.configuration) ?? {}
    return Object.hasOwn(settings, this.name)
  }

  /** The section `oauth`. */
  get oauth(): Readonly<OAuthSettings> {
    const settings = findOAuthSettings(this.authentication.configuration)
    if (settings !== null && Object.hasOwn(settings, this.name)) return settings
    throw new TypeError(`The strategy '${this.name}' needs the setting '${this.place}'`)
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
    const keys = readTokenKeys(secret, jwtOptions.algorithm as Algorithm, `${configKey}.secret`)
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
    const { configKey, configuration } = this.authentication
    this.getProvider()
    const givesCode = [...this.#providers.values()].some(({ settings }) => settings.givesCode)
    if (givesCode && !configuration.authStrategies.includes(this.name)) {
      throw new TypeError(
        `'${configKey}.authStrategies' must name '${this.name}': the codes of its logins are exchanged by it`,
      )
    }
  }

  /** @throws {TypeError} logins end on a page that would get an access token and nothing to renew it by */
  checkResponse(): void {
    const { app, configuration, loginExtensions } = this.authentication
    const { redirect, origins = app.get('origins') } = findOAuthSettings(configuration) ?? {}
    const hasPage = redirect !== undefined || origins !== undefined
    const issuing = loginExtensions?.find(({ issue }) => issue !== undefined)
    if (issuing === undefined || !hasPage || this.getProvider().settings.givesCode) return
    throw new TypeError(
      `'${this.place}.response' must be 'code' where there are ${issuing.setting}: ` +
        'the page exchanges it for both tokens, and a refresh token stands in no URL',
    )
  }

  /**
   * Returns the provider.
   * @param override the name of a set of other settings, `null` for none
   * @throws {NotFound} there is no such set
   */
  getProvider(override: string | null = null): OAuthProvider {
    const { oauth } = this
    if (this.#oauth !== oauth) {
      this.#providers = this.#createProviders(oauth)
      this.#oauth = oauth
    }
    const provider = this.#providers.get(override)
    if (provider !== undefined) return provider
    throw new NotFound(`There are no settings '${override}' for ${this.name}`)
  }

  #createProviders(oauth: Readonly<OAuthSettings>): Map<string | null, OAuthProvider> {
    const { place } = this
    const base = resolveProvider(place, oauth, this.name)
    const others = Object.entries(base.overrides).map(([name, override]) => {
      const settings = resolveProvider(`${place}.overrides.${name}`, oauth, this.name, override)
      return [name, new OAuthProvider(settings)] as const
    })
    return new Map([[null, new OAuthProvider(base)], ...others])
  }

  /** Returns a code for an entity that has logged in: exchanged for a token once, within a minute. */
  createCode(id: string): string {
    const data = { strategy: this.name, id, jti: crypto.randomUUID() }
    return sealData(
      'oauth-code',
      data,
      deriveKey('oauth-code', this.secrets[0] ?? ''),
      CODE_SECONDS,
    )
  }

  /**
   * Returns the id of the entity that a code stands for, the first time.
   * @throws {NotAuthenticated} it is none, was used, is too old, or is for another strategy
   */
  async redeemCode(code: unknown): Promise<string> {
    if (!isNonEmptyString(code)) throw new NotAuthenticated('The code must be a string')
    const { strategy, id, jti, exp } = openData('oauth-code', code, this.secrets, NO_CODE)
    if (strategy !== this.name) throw createRefusal(NO_CODE, 'it is for another strategy')
    const use = [String(jti), Number(exp)] as const
    const isFirst = (await this.claimHere(...use)) && (await this.claimEverywhere(...use))
    if (!isFirst) throw createRefusal(NO_CODE, 'it was used')
    return String(id)
  }
}

const CODE_SECONDS = 60
const NO_CODE = 'The code is not valid any more: log in again'
