import type { Configuration, CustomFetch, TokenEndpointResponse } from 'openid-client'
import type { Flow } from '../sealed/flow-cookie.ts'
import type { OpenId } from './openid-client.ts'
import { loadOpenId } from './openid-client.ts'
import type { IdClaims, OAuthProfile } from './profile.ts'
import { readClaims, readProfile } from './profile.ts'
import type { FlowSecrets, OAuthProvider } from './provider.ts'
import { SecretFilter } from './secret-filter.ts'
import { normalizeTokenAnswer } from './token-answer.ts'

/** What a provider gives for a login that it has confirmed. */
export interface ProviderGrant {
  readonly access_token: string
  readonly refresh_token?: string
  readonly id_token?: string
  /** The whole answer of the token endpoint; of a provider without OpenID, but an id token. */
  readonly raw: Readonly<Record<string, unknown>>
  /** The claims of the id token and of the userinfo endpoint, or what `profile_url` gives. */
  readonly profile: OAuthProfile
}

/** Fields of a request that no log should have. */
const SECRET_FIELDS = ['code', 'code_verifier', 'client_secret', 'client_assertion', 'token']

/**
 * What one call asks a provider: sends somebody there, or finds out who came back. Its requests end
 * with the call.
 */
export class ProviderSession {
  readonly provider: OAuthProvider
  /** What the provider has been told, and must not tell the log. */
  readonly secrets: SecretFilter = new SecretFilter()
  readonly #signal: AbortSignal | undefined
  #configuration: Promise<Configuration> | null = null

  constructor(provider: OAuthProvider, signal: AbortSignal | undefined) {
    this.provider = provider
    this.#signal = signal
    this.secrets.add(provider.settings.secret)
  }

  /**
   * Returns the URL of the provider where a flow goes on.
   * @param parameters further ones, over those of the settings
   * @throws {Error} the provider can not be reached
   */
  async getAuthorizationUrl(
    { state, nonce, verifier }: FlowSecrets,
    redirectUri: string,
    parameters: Readonly<Record<string, string>>,
  ): Promise<string> {
    const openid = await loadOpenId()
    const { scope, customParams, hasPkce } = this.provider.settings
    const url = openid.buildAuthorizationUrl(await this.configure(), {
      ...(scope === '' ? {} : { scope }),
      ...customParams,
      ...parameters,
      redirect_uri: redirectUri,
      state,
      ...(nonce === null ? {} : { nonce }),
      ...(hasPkce ? await toChallenge(openid, verifier) : {}),
    })
    return url.href
  }

  /**
   * Returns what the provider knows of whoever came back.
   * @param answer the parameters that the browser has brought back
   * @throws {Error} the answer is not one to this flow, or the provider does not confirm it
   */
  async finish(answer: URLSearchParams, flow: Flow): Promise<ProviderGrant> {
    const { state, nonce, verifier, redirectUri } = flow
    this.secrets.add(state, nonce, verifier, answer.get('code'))
    const openid = await loadOpenId()
    const { endpoints, hasPkce, customParams } = this.provider.settings
    const configuration = await this.configure()
    const url = new URL(redirectUri)
    url.search = answer.toString()
    const maxAge = Number(customParams['max_age'] ?? Number.NaN)
    try {
      const tokens = await openid.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        ...(hasPkce ? { pkceCodeVerifier: verifier } : {}),
        ...(nonce === null ? {} : { expectedNonce: nonce }),
        ...(Number.isNaN(maxAge) ? {} : { maxAge }),
        idTokenExpected: endpoints === null,
      })
      this.secrets.add(tokens.access_token, tokens.refresh_token, tokens.id_token)
      return toGrant(tokens, await this.getProfile(tokens.access_token, tokens.claims()))
    } finally {
      await this.provider.keepKeys(configuration)
    }
  }

  /**
   * Returns the profile of the owner of an access token.
   * @param claims those of the id token; a profile of somebody else is refused
   * @throws {Error} the provider does not answer, or tells of somebody else
   */
  async getProfile(token: string, claims: IdClaims | undefined): Promise<OAuthProfile> {
    const { endpoints } = this.provider.settings
    const configuration = await this.configure()
    return endpoints === null
      ? readClaims(configuration, token, claims)
      : readProfile(configuration, token, endpoints)
  }

  /**
   * Returns the endpoints of the provider and how this application is known there.
   * @throws {Error} the provider can not be reached, or its discovery document not be used
   */
  configure(): Promise<Configuration> {
    this.#configuration ??= this.provider.configure(this.#send)
    return this.#configuration
  }

  readonly #send: CustomFetch = async (url, init) => {
    const { provider } = this
    const authorization = new Headers(init.headers).get('authorization')
    const fields = new URLSearchParams(init.body instanceof URLSearchParams ? init.body : '')
    this.secrets.add(
      authorization?.replace(/^\S+ /, ''),
      ...SECRET_FIELDS.map((name) => fields.get(name)),
    )
    // What needs no credentials are the keys, which are not for this call alone.
    const isShared = init.method === 'GET' && authorization === null
    const signals = [init.signal, isShared ? undefined : this.#signal]
    const signal = AbortSignal.any(signals.filter((one) => one !== undefined))
    const response = await provider.fetch(url, { ...init, signal })
    const { endpoints } = provider.settings
    const isPlain = endpoints !== null && url === new URL(endpoints.accessUrl).href
    return isPlain ? normalizeTokenAnswer(response) : response
  }
}

async function toChallenge(openid: OpenId, verifier: string) {
  const challenge = await openid.calculatePKCECodeChallenge(verifier)
  return { code_challenge: challenge, code_challenge_method: 'S256' }
}

function toGrant(tokens: TokenEndpointResponse, profile: OAuthProfile): ProviderGrant {
  const { access_token, refresh_token, id_token } = tokens
  return {
    access_token,
    ...(refresh_token === undefined ? {} : { refresh_token }),
    ...(id_token === undefined ? {} : { id_token }),
    raw: { ...tokens },
    profile,
  }
}
