import { ServiceError } from '../../../core/index.ts'
import { isNonEmptyString, isObject } from '../../../core/value-kind.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import type { OAuthProvider } from './provider.ts'
import { findProviderError } from './provider-error.ts'
import { ProviderSession } from './provider-session.ts'
import type { SecretFilter } from './secret-filter.ts'

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
    if ((error as { code?: unknown }).code !== ANSWERED_ERROR) provider.doubt()
    throw toRefusal(session, error)
  }
}

/**
 * Returns the error of a login that a provider has not confirmed. What the provider says about it
 * may be written by anybody who makes a link, so that it is for the log only.
 */
function toRefusal({ provider, secrets }: ProviderSession, cause: unknown): Error {
  const { name } = provider.settings
  const { error } = cause as Record<string, unknown>
  const unreachable = findProviderError(cause)
  if (unreachable !== undefined) {
    const { message: reason } = unreachable
    return createNotAuthenticated(`${name} can not be asked: try again later`, undefined, {
      reason,
    })
  }
  const text = MESSAGES.get(error)?.(name) ?? `${name} did not confirm the login`
  return createNotAuthenticated(text, undefined, {
    reason: describe(cause as Error, secrets),
  })
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
