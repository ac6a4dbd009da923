import type { Configuration, CustomFetch } from 'openid-client'
import { OAuthRejected } from '../../../core/errors/coded-errors.ts'
import { ServiceError } from '../../../core/index.ts'
import { withDefaults } from '../../../core/options/option-check.ts'
import { isNonEmptyString, isObject } from '../../../core/value-kind.ts'
import { createRefusal } from '../../auth-errors.ts'
import type { Flow } from '../flow-cookie.ts'
import type { OAuthProfile } from './profile.ts'
import { readClaims, readProfile } from './profile.ts'
import type { FlowSecrets, OAuthProvider } from './provider.ts'
import { loadOpenId } from './provider.ts'
import { findProviderError } from './provider-fetch.ts'

/** What a provider returns for a login that it has confirmed. */
export interface ProviderGrant {
  readonly access_token: string
  readonly refresh_token?: string
  readonly id_token?: string
  /** The whole response of the token endpoint, without the id token if the provider does not use OpenID. */
  readonly raw: Readonly<Record<string, unknown>>
  /** The claims of the id token and of the userinfo endpoint, or the response of `profile_url`. */
  readonly profile: OAuthProfile
}

/** Fields of a request that must not reach a log. */
const SECRET_FIELDS = ['code', 'code_verifier', 'client_secret', 'client_assertion', 'token']

/**
 * The requests of one call to a provider: it starts a flow, or finds out who came back. The requests are aborted when
 * the call ends.
 */
export class ProviderSession {
  readonly provider: OAuthProvider
  /** Values that were sent to the provider and must not reach the log. */
  readonly secrets: SecretFilter = new SecretFilter()
  readonly #signal: AbortSignal | undefined
  #configuration: Promise<Configuration> | null = null

  constructor(provider: OAuthProvider, signal: AbortSignal | undefined) {
    this.provider = provider
    this.#signal = signal
    this.secrets.add(provider.settings.secret)
  }

  /**
   * Returns the URL at the provider where a flow continues.
   * @param parameters additional parameters, which override those of the settings
   * @throws {Error} the provider cannot be reached
   */
  async getAuthorizationUrl(
    { state, nonce, verifier }: FlowSecrets,
    redirectUri: string,
    parameters: Readonly<Record<string, string>>,
  ): Promise<string> {
    const openid = await loadOpenId()
    const { scope, custom_params, hasPkce } = this.provider.settings
    const challenge = await openid.calculatePKCECodeChallenge(verifier)
    const url = openid.buildAuthorizationUrl(await this.configure(), {
      ...(scope === '' ? {} : { scope }),
      ...custom_params,
      ...parameters,
      redirect_uri: redirectUri,
      state,
      ...(nonce === null ? {} : { nonce }),
      ...(hasPkce && { code_challenge: challenge, code_challenge_method: 'S256' }),
    })
    return url.href
  }

  /**
   * Returns what the provider knows about the person who came back.
   * @param answer the query parameters that the browser brought back
   * @throws {Error} the parameters do not belong to this flow, or the provider does not confirm the login
   */
  async finish(answer: URLSearchParams, flow: Flow): Promise<ProviderGrant> {
    const { state, nonce, verifier, redirectUri } = flow
    this.secrets.add(state, nonce, verifier, answer.get('code'))
    const openid = await loadOpenId()
    const { isOpenId, hasPkce, custom_params } = this.provider.settings
    const configuration = await this.configure()
    const url = new URL(redirectUri)
    url.search = answer.toString()
    const maxAge = Number(custom_params['max_age'] ?? Number.NaN)
    try {
      const tokens = await openid.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        ...(hasPkce ? { pkceCodeVerifier: verifier } : {}),
        ...(nonce === null ? {} : { expectedNonce: nonce }),
        ...(Number.isNaN(maxAge) ? {} : { maxAge }),
        idTokenExpected: isOpenId,
      })
      const { access_token, refresh_token, id_token } = tokens
      this.secrets.add(access_token, refresh_token, id_token)
      const profile = await this.getProfile(access_token, tokens.claims())
      const grant: ProviderGrant = { access_token, raw: { ...tokens }, profile }
      return withDefaults(grant, { refresh_token, id_token })
    } finally {
      await this.provider.keepKeys(configuration)
    }
  }

  /**
   * Returns the profile of the owner of an access token.
   * @param claims those of the id token; the profile must have the same subject
   * @throws {Error} the provider does not respond, or returns another person's profile
   */
  async getProfile(
    token: string,
    claims: { readonly sub: string } | undefined,
  ): Promise<OAuthProfile> {
    const { settings } = this.provider
    const configuration = await this.configure()
    return settings.isOpenId
      ? readClaims(configuration, token, claims)
      : readProfile(configuration, token, settings)
  }

  /**
   * Returns the endpoints of the provider and the credentials of this application there.
   * @throws {Error} the provider cannot be reached, or its discovery document is unusable
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
    // Requests without credentials fetch keys, which later calls share: this call's signal must not abort them.
    const isShared = init.method === 'GET' && authorization === null
    const signals = [init.signal, isShared ? undefined : this.#signal]
    const signal = AbortSignal.any(signals.filter((one) => one !== undefined))
    const response = await provider.fetch(url, { ...init, signal })
    const { isOpenId, access_url = '' } = provider.settings
    const isPlain = !isOpenId && url === new URL(access_url).href
    return isPlain ? normalizeTokenAnswer(response) : response
  }
}

/** Content types of token responses that are forms instead of JSON, as older servers send them. */
const FORM = /^(?:application\/x-www-form-urlencoded|text\/plain)\b/i

/**
 * Returns the token response of a provider without OpenID in the standard form: JSON with a token type and status 200.
 * Empty values are dropped. The id token is dropped too: it was not requested and nothing verifies it. Responses
 * without a token keep their status and fields.
 * @see RFC 6749 §5.1
 */
export async function normalizeTokenAnswer(response: Response): Promise<Response> {
  const { status, ok, headers } = response
  const text = await response.text()
  const fields = parseFields(text, headers.get('content-type') ?? '')
  if (fields === null) return new Response(text === '' ? null : text, { status, headers })
  const hasToken = ok && isNonEmptyString(fields['access_token'])
  const answer = hasToken ? { token_type: 'bearer', ...withoutExtras(fields) } : fields
  // openid-client reads the reason for rejecting a client from this header.
  const challenge = headers.get('www-authenticate')
  return Response.json(answer, {
    status: hasToken ? 200 : status,
    headers: challenge === null ? {} : { 'www-authenticate': challenge },
  })
}

function parseFields(text: string, type: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) && !Array.isArray(parsed) ? { ...parsed } : null
  } catch {
    // Not JSON: either a form or unusable.
    const form = new URLSearchParams(FORM.test(type) ? text : '')
    return form.has('access_token') || form.has('error') ? Object.fromEntries(form) : null
  }
}

function withoutExtras({ id_token: _unverified, scope, ...fields }: Record<string, unknown>) {
  const others = Object.entries(fields).filter(([, value]) => value !== null)
  const scopes = Array.isArray(scope) ? scope.join(' ') : scope
  return { ...Object.fromEntries(others), ...(isNonEmptyString(scopes) ? { scope: scopes } : {}) }
}

const HIDDEN = '[secret]'

/** Secrets of a login, which are removed from what a provider says about it. */
export class SecretFilter {
  readonly #secrets = new Set<string>()

  /** Adds all values that are strings. */
  add(...values: readonly unknown[]): void {
    for (const value of values.filter(isNonEmptyString)) {
      this.#secrets.add(value)
      // The form-encoded value, as the provider received it.
      this.#secrets.add(new URLSearchParams([['', value]]).toString().slice(1))
    }
  }

  /** Returns a text with the secrets replaced. */
  cut(text: string): string {
    // Replaces the longest secret first: a shorter one may be part of it.
    const sorted = [...this.#secrets].sort((a, b) => b.length - a.length)
    return sorted.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text)
  }
}

/** Messages for the user, by the error code with which a provider sends the browser back. */
const MESSAGES: ReadonlyMap<unknown, (provider: string) => string> = new Map([
  ['access_denied', (provider) => `You have not let us know who you are at ${provider}`],
  ['login_required', (provider) => `You are not logged in at ${provider}`],
  ['consent_required', (provider) => `${provider} wants you to agree first`],
  ['interaction_required', (provider) => `${provider} wants you to log in there first`],
  ['server_error', (provider) => `${provider} has a problem: try again later`],
  ['temporarily_unavailable', (provider) => `${provider} has a problem: try again later`],
])

const MAX_REASON = 200

/** The code of openid-client for an error in the parameters of a callback. */
const ANSWERED_ERROR = 'OAUTH_AUTHORIZATION_RESPONSE_ERROR'

/**
 * Runs a function that sends requests to a provider, within the life of a call.
 * @throws {NotAuthenticated} the provider does not confirm the login
 */
export async function askProvider<T>(
  provider: OAuthProvider,
  signal: AbortSignal | undefined,
  work: (session: ProviderSession) => Promise<T>,
): Promise<T> {
  const session = new ProviderSession(provider, signal)
  try {
    return await work(session)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof ServiceError) throw error
    // The parameters of a callback come from the browser and say nothing about the endpoints.
    if ((error as { code?: unknown }).code !== ANSWERED_ERROR) provider.document.expire()
    throw createLoginRefusal(session, error)
  }
}

/**
 * Returns the error for a login that a provider has not confirmed. Anyone can make a link with an error text of a
 * provider, so that text goes to the log only.
 */
function createLoginRefusal({ provider, secrets }: ProviderSession, cause: unknown): Error {
  const { name } = provider.settings
  const { error } = cause as Record<string, unknown>
  const unreachable = findProviderError(cause)
  if (unreachable !== undefined) {
    const { message: reason } = unreachable
    return createRefusal(`${name} cannot be reached: try again later`, reason, OAuthRejected)
  }
  const text = MESSAGES.get(error)?.(name) ?? `${name} did not confirm the login`
  return createRefusal(text, describe(cause as Error, secrets), OAuthRejected)
}

/** Returns what the provider says, or else what openid-client found wrong. The text may repeat what was sent. */
function describe(refusal: Error, secrets: SecretFilter): string {
  const { name, code } = refusal as Error & { readonly code?: unknown }
  const finding = refusal.cause instanceof Error ? refusal.cause : null
  // GitHub sends errors with status 200, like tokens.
  const { body } = (finding?.cause ?? {}) as { readonly body?: unknown }
  const { error, error_description } = Object(isObject(body) ? body : refusal)
  if (isObject(body)) secrets.add(body['access_token'], body['refresh_token'], body['id_token'])
  const { message } = finding ?? refusal
  // The platform's message quotes a value that no header can hold, which may be a token.
  const isPlatform = refusal instanceof TypeError || finding instanceof TypeError
  const known = /^[a-z_]{1,40}$/.test(String(error)) ? error : (code ?? name)
  const parts = [known, error_description ?? (isPlatform ? '' : message)]
  return secrets.cut(parts.filter(isNonEmptyString).join(': ')).slice(0, MAX_REASON)
}
