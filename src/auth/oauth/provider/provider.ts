import type { JWTVerifyGetKey } from 'jose'
import type { ClientAuth, Configuration, CryptoKey, CustomFetch } from 'openid-client'
import type { Flow } from '../flow-cookie.ts'
import type { OAuthEndpoints, ProviderSettings } from '../settings/provider-settings.ts'
import type { ProviderFetch } from './provider-fetch.ts'
import { createProviderFetch } from './provider-fetch.ts'

/** The part of a flow that its beginning decides. */
export type FlowSecrets = Pick<Flow, 'state' | 'nonce' | 'verifier'>

type KeyCache = NonNullable<ReturnType<OpenId['getJwksCache']>>

/** How long a provider may take for an answer. */
export const REQUEST_MS = 5000

/** Beyond that, so that the error which names the provider comes first. */
const TIMEOUT_SECONDS = 10

/**
 * One provider: what all logins there share. The protocol is that of `openid-client`, which is loaded
 * with the first flow, as is the discovery document.
 */
export class OAuthProvider {
  readonly settings: ProviderSettings
  /** Sends a request to the provider, within its limits of time, size and network. */
  fetch: ProviderFetch
  readonly #document = new DiscoveryDocument(() => this.#loadDocument())
  #clientAuth: Promise<ClientAuth> | null = null
  #keys: KeyCache | null = null
  /** The keys for id tokens that callers send, and where they are. */
  #keySet: { readonly url: string; readonly getKey: JWTVerifyGetKey } | null = null

  constructor(settings: ProviderSettings) {
    this.settings = settings
    const { allowPrivateNetwork } = settings
    this.fetch = createProviderFetch({ allowPrivateNetwork, timeoutMs: REQUEST_MS })
  }

  /**
   * Returns the random values of a new flow.
   * @throws {Error} the library of the protocol can not be loaded
   */
  async createSecrets(): Promise<FlowSecrets> {
    const openid = await loadOpenId()
    return {
      state: openid.randomState(),
      nonce: this.settings.hasNonce ? openid.randomNonce() : null,
      verifier: openid.randomPKCECodeVerifier(),
    }
  }

  /**
   * Returns the endpoints of the provider and how this application is known there, for one call:
   * the library has a fetch for each configuration, and none for each request.
   * @param send sends the requests of the call
   * @throws {Error} the provider can not be reached, or its discovery document not be used
   */
  async configure(send: CustomFetch): Promise<Configuration> {
    const openid = await loadOpenId()
    const { endpoints } = this.settings
    const configuration =
      endpoints === null
        ? await this.#configureFrom(openid, await this.#document.read())
        : await this.#combine(openid, endpoints)
    configuration[openid.customFetch] = send
    if (this.#keys !== null) openid.setJwksCache(configuration, this.#keys)
    return configuration
  }

  /** Keeps the keys that a call has fetched for the next ones. */
  async keepKeys(configuration: Configuration): Promise<void> {
    const { getJwksCache } = await loadOpenId()
    const keys = getJwksCache(configuration)
    if (keys !== undefined && keys.uat >= (this.#keys?.uat ?? 0)) this.#keys = keys
  }

  /**
   * Returns what finds the keys of id tokens that callers send; they are fetched with the first. An
   * unknown key has jose fetch them anew at most twice a minute: forged tokens may have any.
   */
  async getKeys(url: string): Promise<JWTVerifyGetKey> {
    if (this.#keySet?.url === url) return this.#keySet.getKey
    const { createRemoteJWKSet, customFetch } = await import('jose')
    const getKey = createRemoteJWKSet(new URL(url), {
      // The limit of the provider's requests names the provider in its error.
      timeoutDuration: 2 * REQUEST_MS,
      [customFetch]: this.fetch,
    })
    this.#keySet = { url, getKey }
    return getKey
  }

  /**
   * Lets the next login fetch the discovery document again, at most once a minute: one has failed, and
   * the provider may have moved its endpoints.
   */
  expireDocument(): void {
    this.#document.expire()
  }

  /** Returns the JSON of the discovery document, which the library has found valid. */
  async #loadDocument(): Promise<string> {
    const openid = await loadOpenId()
    let text = ''
    await this.#discover(openid, async (url, init) => {
      const response = await this.fetch(url, init)
      text = await response.clone().text()
      return response
    })
    return text
  }

  /**
   * Returns the configuration that a discovery document describes. The library reads the document for
   * each call anew: what it notes of Microsoft's, whose issuer has a placeholder, can not be handed from
   * one configuration to another.
   */
  #configureFrom(openid: OpenId, document: string): Promise<Configuration> {
    const headers = { 'content-type': 'application/json' }
    return this.#discover(openid, async () => new Response(document, { headers }))
  }

  async #discover(openid: OpenId, send: CustomFetch): Promise<Configuration> {
    const { key, issuer } = this.settings
    const clientAuth = await this.#getClientAuth(openid)
    return openid.discovery(new URL(String(issuer)), key, this.#metadata, clientAuth, {
      [openid.customFetch]: send,
      timeout: TIMEOUT_SECONDS,
      execute: this.#getAdaptions(openid),
    })
  }

  async #combine(openid: OpenId, endpoints: OAuthEndpoints): Promise<Configuration> {
    const { key, issuer } = this.settings
    const server = {
      // The library demands one, to compare with the `iss` of an answer.
      issuer: issuer ?? new URL(endpoints.authorizeUrl).origin,
      authorization_endpoint: endpoints.authorizeUrl,
      token_endpoint: endpoints.accessUrl,
    }
    const clientAuth = await this.#getClientAuth(openid)
    const configuration = new openid.Configuration(server, key, this.#metadata, clientAuth)
    configuration.timeout = TIMEOUT_SECONDS
    for (const adapt of this.#getAdaptions(openid)) adapt(configuration)
    return configuration
  }

  get #metadata() {
    const { secret, signingAlgorithm } = this.settings
    return {
      ...(secret === null ? {} : { client_secret: secret }),
      ...(signingAlgorithm === null ? {} : { token_endpoint_auth_signing_alg: signingAlgorithm }),
    }
  }

  #getAdaptions(openid: OpenId): ((configuration: Configuration) => void)[] {
    const { allowPrivateNetwork } = this.settings
    return [
      openid.enableNonRepudiationChecks,
      ...(allowPrivateNetwork ? [openid.allowInsecureRequests] : []),
    ]
  }

  #getClientAuth(openid: OpenId): Promise<ClientAuth> {
    this.#clientAuth ??= createClientAuth(openid, this.settings)
    return this.#clientAuth
  }
}

/** Returns how requests for tokens are authenticated: as the settings say, else as is accepted. */
async function createClientAuth(openid: OpenId, settings: ProviderSettings): Promise<ClientAuth> {
  const { secret, privateKey, authMethod, signingAlgorithm } = settings
  const methods: Record<string, () => ClientAuth | Promise<ClientAuth>> = {
    none: () => openid.None(),
    client_secret_post: () => openid.ClientSecretPost(secret ?? undefined),
    client_secret_basic: () => openid.ClientSecretBasic(secret ?? undefined),
    client_secret_jwt: () => openid.ClientSecretJwt(secret ?? undefined),
    private_key_jwt: () => createKeyAuth(openid, privateKey ?? {}, signingAlgorithm ?? 'RS256'),
  }
  const chosen = authMethod === null ? undefined : methods[authMethod]
  if (chosen !== undefined) return chosen()
  const post = openid.ClientSecretPost(secret ?? undefined)
  const basic = openid.ClientSecretBasic(secret ?? undefined)
  return (server, ...others) => {
    const accepted = server.token_endpoint_auth_methods_supported
    const isBasicOnly = accepted !== undefined && !accepted.includes('client_secret_post')
    return (isBasicOnly ? basic : post)(server, ...others)
  }
}

async function createKeyAuth(openid: OpenId, jwk: object, algorithm: string): Promise<ClientAuth> {
  const { importJWK } = await import('jose')
  const { kid } = jwk as { kid?: string }
  const key = (await importJWK(jwk, algorithm)) as CryptoKey
  return openid.PrivateKeyJwt(kid === undefined ? key : { key, kid })
}

/** Endpoints and algorithms change seldom, and are announced long before. */
const LIFETIME_MS = 3_600_000

/** Anybody can have a login fail: that must not have the document fetched each time. */
const MIN_AGE_MS = 60_000

/** The discovery document of a provider: it is fetched once for all logins of an hour. */
export class DiscoveryDocument {
  readonly #load: () => Promise<string>
  #text: Promise<string> | null = null
  #loadedAt = 0

  /** @param load fetches the document, and rejects where it can not be used */
  constructor(load: () => Promise<string>) {
    this.#load = load
  }

  /**
   * Returns the JSON of the document.
   * @throws {Error} it can not be fetched, or not be used
   */
  async read(): Promise<string> {
    this.#forget(LIFETIME_MS)
    if (this.#text === null) {
      this.#loadedAt = performance.now()
      this.#text = this.#load()
    }
    const text = this.#text
    try {
      return await text
    } catch (error) {
      // The next login tries again, unless another has begun to.
      if (this.#text === text) this.#text = null
      throw error
    }
  }

  /** Has the next login fetch the document again, where it is older than a minute. */
  expire(): void {
    this.#forget(MIN_AGE_MS)
  }

  #forget(ageMs: number): void {
    if (performance.now() - this.#loadedAt >= ageMs) this.#text = null
  }
}

/** The library of the protocol. */
export type OpenId = typeof import('openid-client')

/** Returns the library. It is loaded with the first flow: most processes never begin one. */
export function loadOpenId(): Promise<OpenId> {
  return import('openid-client')
}
