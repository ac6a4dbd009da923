import type { Configuration, CustomFetch } from 'openid-client'
import { ServiceError } from '../../../core/index.ts'
import { withDefaults } from '../../../core/options/option-check.ts'
import { isNonEmptyString, isObject } from '../../../core/value-kind.ts'
import { createRefusal } from '../../auth-errors.ts'
import type { Flow } from '../flow-cookie.ts'
import type { IdClaims, OAuthProfile } from './profile.ts'
import { readClaims, readProfile } from './profile.ts'
import type { FlowSecrets, OAuthProvider, OpenId } from './provider.ts'
import { loadOpenId } from './provider.ts'
import { findProviderError } from './provider-error.ts'

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
      ...(hasPkce ? await createPkceChallenge(openid, verifier) : {}),
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

async function createPkceChallenge(openid: OpenId, verifier: string) {
  const challenge = await openid.calculatePKCECodeChallenge(verifier)
  return { code_challenge: challenge, code_challenge_method: 'S256' }
}

/** How answers are called that are no JSON, but a form: those of older servers. */
const FORM = /^(?:application\/x-www-form-urlencoded|text\/plain)\b/i

/**
 * Returns the answer of the token endpoint of a provider without OpenID as the standard has it: JSON
 * with a type of token, and status 200. What stands for nothing is left out, and so is an id token,
 * which nobody asks for and nobody verifies. Answers without a token keep their status and fields.
 * @see RFC 6749 §5.1
 */
export async function normalizeTokenAnswer(response: Response): Promise<Response> {
  const { status, ok, headers } = response
  const text = await response.text()
  const fields = parseFields(text, headers.get('content-type') ?? '')
  if (fields === null) return new Response(text === '' ? null : text, { status, headers })
  const hasToken = ok && isNonEmptyString(fields['access_token'])
  const answer = hasToken ? { token_type: 'bearer', ...withoutExtras(fields) } : fields
  return Response.json(answer, { status: hasToken ? 200 : status, headers: copyChallenge(headers) })
}

function parseFields(text: string, type: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) && !Array.isArray(parsed) ? { ...parsed } : null
  } catch {
    // No JSON: it is a form, or nothing of use.
    const form = new URLSearchParams(FORM.test(type) ? text : '')
    return form.has('access_token') || form.has('error') ? Object.fromEntries(form) : null
  }
}

function withoutExtras({ id_token: _unverified, scope, ...fields }: Record<string, unknown>) {
  const others = Object.entries(fields).filter(([, value]) => value !== null)
  const scopes = Array.isArray(scope) ? scope.join(' ') : scope
  return { ...Object.fromEntries(others), ...(isNonEmptyString(scopes) ? { scope: scopes } : {}) }
}

/** The library reads why a client was refused from there. */
function copyChallenge(headers: Headers): Headers {
  const challenge = headers.get('www-authenticate')
  return new Headers(challenge === null ? {} : { 'www-authenticate': challenge })
}

const HIDDEN = '[secret]'

/** Secrets of a login, which are cut out of what a provider says about it. */
export class SecretFilter {
  readonly #secrets = new Set<string>()

  /** Adds those of the values that are strings. */
  add(...values: readonly unknown[]): void {
    for (const value of values.filter(isNonEmptyString)) {
      this.#secrets.add(value)
      // As it stands in the form that a provider has received.
      this.#secrets.add(new URLSearchParams([['', value]]).toString().slice(1))
    }
  }

  /** Returns a text without the secrets. */
  cut(text: string): string {
    if (this.#secrets.size === 0) return text
    // The longest first: another may be a part of it.
    const patterns = [...this.#secrets].sort((a, b) => b.length - a.length).map(escapePattern)
    return text.replace(new RegExp(patterns.join('|'), 'g'), HIDDEN)
  }
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** What people are told of the errors that a provider sends back with them. */
const MESSAGES: ReadonlyMap<unknown, (provider: string) => string> = new Map([
  ['access_denied', (provider) => `You have not let us know who you are at ${provider}`],
  ['login_required', (provider) => `You are not logged in at ${provider}`],
  ['consent_required', (provider) => `${provider} wants you to agree first`],
  ['interaction_required', (provider) => `${provider} wants you to log in there first`],
  ['server_error', (provider) => `${provider} has a problem: try again later`],
  ['temporarily_unavailable', (provider) => `${provider} has a problem: try again later`],
])

const MAX_REASON = 200

/** What the library says of an error in the parameters of a callback. */
const ANSWERED_ERROR = 'OAUTH_AUTHORIZATION_RESPONSE_ERROR'

/**
 * Runs what asks a provider, within the life of a call.
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
    // What the browser has brought back tells nothing of the endpoints.
    if ((error as { code?: unknown }).code !== ANSWERED_ERROR) provider.expireDocument()
    throw createLoginRefusal(session, error)
  }
}

/**
 * Returns the error of a login that a provider has not confirmed. What the provider says about it
 * may be written by anybody who makes a link, so that it is for the log only.
 */
function createLoginRefusal({ provider, secrets }: ProviderSession, cause: unknown): Error {
  const { name } = provider.settings
  const { error } = cause as Record<string, unknown>
  const unreachable = findProviderError(cause)
  if (unreachable !== undefined) {
    const { message: reason } = unreachable
    return createRefusal(`${name} can not be asked: try again later`, reason)
  }
  const text = MESSAGES.get(error)?.(name) ?? `${name} did not confirm the login`
  return createRefusal(text, describe(cause as Error, secrets))
}

/**
 * Returns what the provider says, else what the library has found wrong. It may repeat what it was
 * sent.
 */
function describe(refusal: Error, secrets: SecretFilter): string {
  const { name, code } = refusal as Error & { readonly code?: unknown }
  const finding = refusal.cause instanceof Error ? refusal.cause : null
  // GitHub sends its errors as if they were tokens, with status 200.
  const { body } = (finding?.cause ?? {}) as { readonly body?: unknown }
  const { error, error_description } = (isObject(body) ? body : refusal) as OAuthError
  if (isObject(body)) secrets.add(body['access_token'], body['refresh_token'], body['id_token'])
  const { message } = finding ?? refusal
  // A value that no header can hold stands in the message of the platform, a token perhaps.
  const isPlatform = refusal instanceof TypeError || finding instanceof TypeError
  const known = /^[a-z_]{1,40}$/.test(String(error)) ? error : (code ?? name)
  const parts = [known, error_description ?? (isPlatform ? '' : message)]
  return secrets.cut(parts.filter(isNonEmptyString).join(': ')).slice(0, MAX_REASON)
}

interface OAuthError {
  readonly error?: unknown
  readonly error_description?: unknown
}
