import { OAuthFlowEnded, OAuthRejected, ProviderNotFound } from '../../core/errors/coded-errors.ts'
import { SettingError } from '../../core/errors/setup-errors.ts'
import type { AuthenticationRequest } from '../../core/index.ts'
import { deriveKey } from '../../core/secrets/secret.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'
import type { Authentication } from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { proveProfile } from '../proof.ts'
import { deriveOnce } from '../settings-values.ts'
import { openData, sealData } from '../tokens/sealed-data.ts'
import type { Algorithm } from '../tokens/token-key.ts'
import { readTokenKeys } from '../tokens/token-key.ts'
import { claimOnce, MemoryRevocationList } from '../tokens/token-revocation.ts'
import { NO_FLOW } from './flow-cookie.ts'
import type { OAuthProfile } from './provider/profile.ts'
import { loadOpenId, OAuthProvider } from './provider/provider.ts'
import type { ProviderSession } from './provider/provider-session.ts'
import { askProvider } from './provider/provider-session.ts'
import type { OAuthSettings } from './settings/oauth-settings.ts'
import { findOAuthSettings } from './settings/oauth-settings.ts'
import { resolveProvider } from './settings/provider-settings.ts'

/**
 * One strategy's view of the settings of its authentication service: the provider, and the secrets that seal what is
 * sent through browsers. A changed setting takes effect with the next call.
 */
export class ProviderAccess {
  readonly authentication: Authentication
  /** The name of the strategy. */
  readonly name: string
  /** The flows and codes that were used in this process, when there is no shared list. */
  readonly #used = new MemoryRevocationList()
  /** Returns the providers by the name of the override, `null` for none. */
  readonly #readProviders = deriveOnce(
    () => this.oauth,
    (oauth) => this.#createProviders(oauth),
  )

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
    throw new SettingError(`The strategy '${this.name}' needs the setting '${this.place}'`)
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
    const givesCode = [...this.#readProviders().values()].some(({ settings }) => settings.givesCode)
    if (givesCode && !configuration.authStrategies.includes(this.name)) {
      throw new SettingError(
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
    throw new SettingError(
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
    const provider = this.#readProviders().get(override)
    if (provider !== undefined) return provider
    throw new ProviderNotFound(`There are no settings '${override}' for ${this.name}`)
  }

  #createProviders(oauth: Readonly<OAuthSettings>): Map<string | null, OAuthProvider> {
    const { place } = this
    const base = resolveProvider(place, oauth, this.name)
    const others = Object.entries(base.overrides ?? {}).map(([name, override]) => {
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
    if (!isNonEmptyString(code)) throw new OAuthRejected('The code must be a string')
    const { strategy, id, jti, exp } = openData('oauth-code', code, this.secrets, NO_CODE)
    if (strategy !== this.name)
      throw createRefusal(NO_CODE, 'it is for another strategy', OAuthFlowEnded)
    const use = [String(jti), Number(exp)] as const
    const isFirst = (await this.claimHere(...use)) && (await this.claimEverywhere(...use))
    if (!isFirst) throw createRefusal(NO_CODE, 'it was used', OAuthFlowEnded)
    return String(id)
  }
}

const CODE_SECONDS = 60
const NO_CODE = 'The code is not valid any more: log in again'

/**
 * Returns a login that a caller started itself, for example on a phone, with the profile that the provider confirms: `{
 * strategy, id_token, nonce }`, or `{ strategy, access_token }` if the provider can say which application a token was
 * issued to. A profile in the request is ignored.
 * @throws {NotAuthenticated} the token is forged, expired, or was issued to another application
 */
export async function proveDirectly(
  access: ProviderAccess,
  request: AuthenticationRequest,
  { signal }: AuthenticationParams,
): Promise<AuthenticationRequest> {
  const provider = access.getProvider()
  const { id_token, access_token, nonce } = request
  const profile = await askProvider(provider, signal, async (session) => {
    if (isNonEmptyString(id_token)) return verifyIdToken(session, id_token, nonce)
    if (isNonEmptyString(access_token)) return checkAccessToken(session, access_token)
    const reason = 'neither an id token nor an access token'
    throw createRefusal(NO_FLOW, reason, OAuthFlowEnded)
  })
  const tokens = isNonEmptyString(id_token) ? { id_token } : { access_token }
  return { strategy: access.name, ...tokens, profile: proveProfile(profile, access.name) }
}

/** An access token does not say which application may use it: a token issued to another one would pass. */
async function checkAccessToken(session: ProviderSession, token: string): Promise<OAuthProfile> {
  const { key, name } = session.provider.settings
  const openid = await loadOpenId()
  const configuration = await session.configure()
  if (configuration.serverMetadata().introspection_endpoint === undefined) {
    throw new OAuthRejected(
      `Access tokens of ${name} are not accepted: it does not say for whom they were made`,
    )
  }
  const { active, client_id, sub } = await openid.tokenIntrospection(configuration, token)
  if (!active || client_id !== key) {
    const reason = active ? 'the token was made for another application' : 'the token is not active'
    throw createRefusal(`${name} does not confirm this login`, reason, OAuthRejected)
  }
  return session.getProfile(token, sub === undefined ? undefined : { sub })
}

/** Algorithms with a published key. With a shared secret, any client could sign. */
const PUBLIC_KEY = /^(?:RS|PS|ES|Ed)/

/** Tolerated clock difference of a provider. */
const CLOCK_TOLERANCE_SECONDS = 30

/**
 * Returns the claims of an id token that a caller has sent.
 * @param nonce that of the request; it must equal the one in the token, and both may be missing
 * @throws {Error} the token is forged, expired, for another application or from another provider
 */
async function verifyIdToken(
  session: ProviderSession,
  token: string,
  nonce: unknown,
): Promise<OAuthProfile> {
  const { provider } = session
  const { name, key, isOpenId } = provider.settings
  if (!isOpenId) throw new OAuthRejected(`${name} has no id tokens`)
  const { jwtVerify } = await import('jose')
  const server = (await session.configure()).serverMetadata()
  const offered = server.id_token_signing_alg_values_supported ?? ['RS256']
  const { payload } = await jwtVerify(token, await provider.getKeys(String(server.jwks_uri)), {
    algorithms: offered.filter((algorithm) => PUBLIC_KEY.test(algorithm)),
    audience: key,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(Date.now()),
    requiredClaims: ['iss', 'sub', 'iat', 'exp'],
  })
  const { iss, tid, aud, azp, sub } = payload
  // Microsoft's tenants share a discovery document, which has a placeholder for the tenant.
  if (iss !== server.issuer.replace('{tenantid}', String(tid))) throw new Error('unexpected issuer')
  // With several audiences, `azp` names the one that requested the token.
  const isShared = Array.isArray(aud) && aud.length > 1
  if (isShared && azp !== key) throw new Error('unexpected authorized party')
  if (payload['nonce'] !== nonce) throw new Error('unexpected nonce')
  if (!isNonEmptyString(sub)) throw new Error('unexpected subject')
  return { ...payload }
}
