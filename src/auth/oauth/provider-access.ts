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

/** How many used flows and codes one process remembers when there is no shared list. */
const MAX_USED = 100_000

/**
 * One strategy's view of the settings of its authentication service: the provider, and the secrets that seal what is
 * sent through browsers. A changed setting takes effect with the next call.
 */
export class ProviderAccess {
  readonly authentication: Authentication
  /** The name of the strategy. */
  readonly name: string
  readonly #used = new MemoryRevocationList(MAX_USED)
  /** Keyed by the name of the override, `null` for none; rebuilt whenever the settings change. */
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
   * The secrets that seal data, the newest first. They include the name of the authentication service: with equal
   * settings, a code from one service would otherwise log in a different user at another.
   */
  get secrets(): readonly string[] {
    const { configKey, configuration } = this.authentication
    const { secret, jwtOptions } = configuration
    const keys = readTokenKeys(secret, jwtOptions.algorithm as Algorithm, `${configKey}.secret`)
    // A public key only verifies tokens, and is no secret.
    return keys.flatMap(({ signing }) => (signing === null ? [] : `${configKey} ${signing}`))
  }

  /**
   * Marks an id as used within this process and returns whether this was its first use.
   * @param exp seconds since the epoch after which the id is rejected anyway
   */
  claimHere(id: string, exp: number): Promise<boolean> {
    return claimOnce(this.#used, id, exp)
  }

  /**
   * Marks an id as used for all processes, in the list of revoked tokens. A list in memory is skipped: it forgets
   * logouts when it is full, and anyone can fill it by starting logins.
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

  /** @throws {TypeError} logins would end on a page that gets an access token, but no way to renew it */
  checkResponse(): void {
    const { app, configuration, loginExtensions } = this.authentication
    const { redirect, origins = app.get('origins') } = findOAuthSettings(configuration) ?? {}
    const hasPage = redirect !== undefined || origins !== undefined
    const issuing = loginExtensions?.find(({ issue }) => issue !== undefined)
    if (issuing === undefined || !hasPage || this.getProvider().settings.givesCode) return
    throw new TypeError(
      `'${this.place}.response' must be 'code' where there are ${issuing.setting}: ` +
        'the page exchanges it for both tokens, and a refresh token must not appear in a URL',
    )
  }

  /**
   * Returns the provider.
   * @param override the name of an override of the settings, `null` for none
   * @throws {NotFound} there is no such override
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

  /** Returns a code for an entity that has logged in. It is single-use and expires after a minute. */
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
   * Returns the id of the entity that a code stands for, once per code.
   * @throws {NotAuthenticated} the code is invalid, already used, expired, or for another strategy
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
