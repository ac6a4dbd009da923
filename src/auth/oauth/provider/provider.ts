import type { JWTVerifyGetKey } from 'jose'
import type { ClientAuth, Configuration, CryptoKey, CustomFetch } from 'openid-client'
import type { Flow } from '../flow-cookie.ts'
import type { ProviderSettings } from '../settings/provider-settings.ts'
import type { ProviderFetch } from './provider-fetch.ts'
import { createProviderFetch } from './provider-fetch.ts'

/** The random values of a flow, which are created at its start. */
export type FlowSecrets = Pick<Flow, 'state' | 'nonce' | 'verifier'>

type KeyCache = NonNullable<ReturnType<OpenId['getJwksCache']>>

/** Milliseconds within which a provider must respond. */
export const REQUEST_MS = 5000

/** The timeout of openid-client. It is longer than ours, so that the error which names the provider comes first. */
const TIMEOUT_SECONDS = 10

/**
 * One provider and what all its logins share. openid-client implements the protocol; it is loaded with the first flow,
 * as is the discovery document.
 */
export class OAuthProvider {
  readonly settings: ProviderSettings
  /** Sends a request to the provider, within the limits on time, size and network. */
  fetch: ProviderFetch
  readonly document: DiscoveryDocument = new DiscoveryDocument(() => this.#loadDocument())
  #clientAuth: Promise<ClientAuth> | null = null
  #keys: KeyCache | null = null
  /** The keys for id tokens that callers send, and the URL they come from. */
  #keySet: { readonly url: string; readonly getKey: JWTVerifyGetKey } | null = null

  constructor(settings: ProviderSettings) {
    this.settings = settings
    const { allowPrivateNetwork = false } = settings
    this.fetch = createProviderFetch({ allowPrivateNetwork, timeoutMs: REQUEST_MS })
  }

  /**
   * Returns the random values of a new flow.
   * @throws {Error} openid-client cannot be loaded
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
   * Returns the endpoints of the provider and the credentials of this application there, for one call: openid-client
   * takes one fetch per configuration, not per request.
   * @param send sends the requests of the call
   * @throws {Error} the provider cannot be reached, or its discovery document is unusable
   */
  async configure(send: CustomFetch): Promise<Configuration> {
    const openid = await loadOpenId()
    const { isOpenId, issuer, authorize_url, access_url } = this.settings
    const known = { issuer, authorization_endpoint: authorize_url, token_endpoint: access_url }
    const document = isOpenId ? await this.document.read() : JSON.stringify(known)
    const headers = { 'content-type': 'application/json' }
    // openid-client reads the document again for each call: what it records for Microsoft, whose issuer has a
    // placeholder, cannot be copied to another configuration.
    const configuration = await this.#discover(async () => new Response(document, { headers }))
    configuration[openid.customFetch] = send
    if (this.#keys !== null) openid.setJwksCache(configuration, this.#keys)
    return configuration
  }

  /** Keeps the keys that a call has fetched for later calls. */
  async keepKeys(configuration: Configuration): Promise<void> {
    const { getJwksCache } = await loadOpenId()
    const keys = getJwksCache(configuration)
    if (keys !== undefined && keys.uat >= (this.#keys?.uat ?? 0)) this.#keys = keys
  }

  /**
   * Returns a function that finds the keys of id tokens sent by callers; it fetches them on first use. For an unknown
   * key, jose fetches them again at most twice a minute: a forged token may name any key.
   */
  async getKeys(url: string): Promise<JWTVerifyGetKey> {
    if (this.#keySet?.url === url) return this.#keySet.getKey
    const { createRemoteJWKSet, customFetch } = await import('jose')
    const getKey = createRemoteJWKSet(new URL(url), {
      // Longer than our own limit, whose error names the provider.
      timeoutDuration: 2 * REQUEST_MS,
      [customFetch]: this.fetch,
    })
    this.#keySet = { url, getKey }
    return getKey
  }

  /** Returns the JSON of the discovery document after openid-client has validated it. */
  async #loadDocument(): Promise<string> {
    let text = ''
    await this.#discover(async (url, init) => {
      const response = await this.fetch(url, init)
      text = await response.clone().text()
      return response
    })
    return text
  }

  /** @param send resolves to the discovery document */
  async #discover(send: CustomFetch): Promise<Configuration> {
    const openid = await loadOpenId()
    const { key, issuer, secret, allowPrivateNetwork } = this.settings
    const { token_endpoint_auth_signing_alg: algorithm } = this.settings
    const metadata = {
      ...(secret !== undefined && { client_secret: secret }),
      ...(algorithm !== undefined && { token_endpoint_auth_signing_alg: algorithm }),
    }
    this.#clientAuth ??= createClientAuth(openid, this.settings)
    return openid.discovery(new URL(issuer), key, metadata, await this.#clientAuth, {
      [openid.customFetch]: send,
      timeout: TIMEOUT_SECONDS,
      execute: [
        openid.enableNonRepudiationChecks,
        ...(allowPrivateNetwork ? [openid.allowInsecureRequests] : []),
      ],
    })
  }
}

/** Returns the client authentication for the token endpoint: as configured, otherwise what the provider accepts. */
async function createClientAuth(openid: OpenId, settings: ProviderSettings): Promise<ClientAuth> {
  const { secret, private_key = {}, token_endpoint_auth_signing_alg: algorithm } = settings
  const { token_endpoint_auth_method: method = secret === undefined ? 'private_key_jwt' : '' } =
    settings
  const post = openid.ClientSecretPost(secret)
  const basic = openid.ClientSecretBasic(secret)
  const methods: Record<string, () => ClientAuth | Promise<ClientAuth>> = {
    none: () => openid.None(),
    client_secret_post: () => post,
    client_secret_basic: () => basic,
    client_secret_jwt: () => openid.ClientSecretJwt(secret),
    private_key_jwt: async () => {
      const { importJWK } = await import('jose')
      const key = (await importJWK(private_key, algorithm ?? 'RS256')) as CryptoKey
      const { kid } = private_key as { kid?: string }
      return openid.PrivateKeyJwt(kid === undefined ? key : { key, kid })
    },
  }
  const chosen = methods[method]
  if (chosen !== undefined) return chosen()
  return (server, ...others) => {
    const accepted = server.token_endpoint_auth_methods_supported
    const isBasicOnly = accepted !== undefined && !accepted.includes('client_secret_post')
    return (isBasicOnly ? basic : post)(server, ...others)
  }
}

/** Endpoints and algorithms rarely change, and changes are announced long before. */
const LIFETIME_MS = 3_600_000

/** Anyone can make a login fail; that must not trigger a fetch of the document each time. */
const MIN_AGE_MS = 60_000

/** The discovery document of a provider, fetched once an hour at most unless a login fails. */
export class DiscoveryDocument {
  readonly #load: () => Promise<string>
  #text: Promise<string> | null = null
  #loadedAt = 0

  /** @param load fetches the document and rejects if it is unusable */
  constructor(load: () => Promise<string>) {
    this.#load = load
  }

  /**
   * Returns the JSON of the document.
   * @throws {Error} the document cannot be fetched or is unusable
   */
  async read(): Promise<string> {
    this.expire(LIFETIME_MS)
    if (this.#text === null) {
      this.#loadedAt = performance.now()
      this.#text = this.#load()
    }
    const text = this.#text
    try {
      return await text
    } catch (error) {
      // Lets the next login try again, unless another attempt has already started.
      if (this.#text === text) this.#text = null
      throw error
    }
  }

  /**
   * Makes the next login fetch the document again if it is old enough. Called after a failed login: the provider may
   * have moved its endpoints.
   */
  expire(ageMs: number = MIN_AGE_MS): void {
    if (performance.now() - this.#loadedAt >= ageMs) this.#text = null
  }
}

/** The module openid-client. */
export type OpenId = typeof import('openid-client')

/** Returns openid-client. It is loaded with the first flow: most processes never start one. */
export function loadOpenId(): Promise<OpenId> {
  return import('openid-client')
}
