import { AsyncLocalStorage } from 'node:async_hooks'
import type { Configuration, CustomFetch, TokenEndpointResponse } from 'openid-client'
import type { Flow } from '../sealed/flow-cookie.ts'
import type { ProviderSettings } from '../settings/provider-settings.ts'
import { createClientAuth } from './client-auth.ts'
import type { IdClaims, OAuthProfile } from './profile.ts'
import { readClaims, readProfile } from './profile.ts'
import type { ProviderFetch, ProviderRequest } from './provider-fetch.ts'
import { createProviderFetch } from './provider-fetch.ts'

/** What a provider gives for a login that it has confirmed. */
export interface ProviderAnswer {
  readonly access_token: string
  readonly refresh_token?: string
  readonly id_token?: string
  /** The whole answer of the token endpoint. */
  readonly raw: Readonly<Record<string, unknown>>
  /** The claims of the id token and of the userinfo endpoint, or what `profile_url` gives. */
  readonly profile: OAuthProfile
}

/** The part of a flow that its beginning decides. */
export type FlowSecrets = Pick<Flow, 'state' | 'nonce' | 'verifier'>

type OpenId = typeof import('openid-client')

/** How long a provider may take for an answer. */
export const REQUEST_MS = 5000

/** Beyond that, so that the error which names the provider comes first. */
const TIMEOUT_SECONDS = 10

/**
 * One provider: sends people there, and finds out who came back. The protocol is that of
 * `openid-client`, which is loaded with the first flow, as is the discovery document.
 */
export class OAuthProvider {
  readonly settings: ProviderSettings
  readonly #fetch: ProviderFetch
  /** Ends the requests of a call with the call. */
  readonly #signals = new AsyncLocalStorage<AbortSignal | undefined>()
  #configuration: Promise<Configuration> | null = null

  constructor(settings: ProviderSettings) {
    this.settings = settings
    const { allowPrivateNetwork } = settings
    this.#fetch = createProviderFetch({ allowPrivateNetwork, timeoutMs: REQUEST_MS })
  }

  /** Runs what calls the provider, and ends its requests where the signal aborts. */
  run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return this.#signals.run(signal, work)
  }

  /** Runs what several calls wait for: it does not end with the first of them. */
  runShared<T>(work: () => T): T {
    return this.#signals.run(undefined, work)
  }

  /** Returns the random values of a new flow. */
  async createSecrets(): Promise<FlowSecrets> {
    const openid = await loadOpenId()
    return {
      state: openid.randomState(),
      nonce: this.settings.hasNonce ? openid.randomNonce() : null,
      verifier: openid.randomPKCECodeVerifier(),
    }
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
    const { scope, customParams, hasPkce } = this.settings
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
  async finish(answer: URLSearchParams, flow: Flow): Promise<ProviderAnswer> {
    const openid = await loadOpenId()
    const { endpoints, hasPkce, customParams } = this.settings
    const configuration = await this.configure()
    const url = new URL(flow.redirectUri)
    url.search = answer.toString()
    const maxAge = Number(customParams['max_age'] ?? Number.NaN)
    const tokens = await openid.authorizationCodeGrant(configuration, url, {
      expectedState: flow.state,
      ...(hasPkce ? { pkceCodeVerifier: flow.verifier } : {}),
      ...(flow.nonce === null ? {} : { expectedNonce: flow.nonce }),
      ...(Number.isNaN(maxAge) ? {} : { maxAge }),
      idTokenExpected: endpoints === null,
    })
    return toAnswer(tokens, await this.getProfile(tokens.access_token, tokens.claims()))
  }

  /**
   * Returns the profile of the owner of an access token.
   * @param claims those of the id token; a profile of somebody else is refused
   */
  async getProfile(token: string, claims: IdClaims | undefined): Promise<OAuthProfile> {
    const { endpoints } = this.settings
    const configuration = await this.configure()
    return endpoints === null
      ? readClaims(configuration, token, claims)
      : readProfile(configuration, token, endpoints)
  }

  /** Returns the endpoints of the provider and how this application is known there. */
  async configure(): Promise<Configuration> {
    this.#configuration ??= this.runShared(() => this.#createConfiguration())
    try {
      return await this.#configuration
    } catch (error) {
      // The next flow tries again.
      this.#configuration = null
      throw error
    }
  }

  /** Sends a request to the provider, within its limits of time, size and network. */
  async fetch(url: string, init: ProviderRequest): Promise<Response> {
    const signals = [init.signal, this.#signals.getStore()].filter((one) => one != null)
    return this.#fetch(url, { ...init, signal: AbortSignal.any(signals) })
  }

  async #createConfiguration(): Promise<Configuration> {
    const openid = await loadOpenId()
    const { key, secret, issuer, endpoints, allowPrivateNetwork, signingAlgorithm } = this.settings
    const metadata = {
      ...(secret === null ? {} : { client_secret: secret }),
      ...(signingAlgorithm === null ? {} : { token_endpoint_auth_signing_alg: signingAlgorithm }),
    }
    const clientAuth = await createClientAuth(openid, this.settings)
    const send: CustomFetch = (url, init) => this.fetch(url, init)
    const adapt = [
      openid.enableNonRepudiationChecks,
      ...(allowPrivateNetwork ? [openid.allowInsecureRequests] : []),
    ]
    if (endpoints === null) {
      return openid.discovery(new URL(String(issuer)), key, metadata, clientAuth, {
        [openid.customFetch]: send,
        timeout: TIMEOUT_SECONDS,
        execute: adapt,
      })
    }
    const server = {
      // The library demands one, to compare with the `iss` of an answer.
      issuer: issuer ?? new URL(endpoints.authorizeUrl).origin,
      authorization_endpoint: endpoints.authorizeUrl,
      token_endpoint: endpoints.accessUrl,
    }
    const configuration = new openid.Configuration(server, key, metadata, clientAuth)
    configuration[openid.customFetch] = send
    configuration.timeout = TIMEOUT_SECONDS
    for (const change of adapt) change(configuration)
    return configuration
  }
}

/** Loaded with the first flow: most processes never begin one. */
function loadOpenId(): Promise<OpenId> {
  return import('openid-client')
}

async function toChallenge(openid: OpenId, verifier: string) {
  const challenge = await openid.calculatePKCECodeChallenge(verifier)
  return { code_challenge: challenge, code_challenge_method: 'S256' }
}

function toAnswer(tokens: TokenEndpointResponse, profile: OAuthProfile): ProviderAnswer {
  const { access_token, refresh_token, id_token } = tokens
  return {
    access_token,
    ...(refresh_token === undefined ? {} : { refresh_token }),
    ...(id_token === undefined ? {} : { id_token }),
    raw: { ...tokens },
    profile,
  }
}
