import { ServiceError } from '../../../core/index.ts'
import { isNonEmptyString, isObject } from '../../../core/value-kind.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import type { OAuthProvider } from './provider.ts'
import { findProviderError } from './provider-error.ts'

/** What people are told of the errors that a provider sends back with them. */
const TEXTS: ReadonlyMap<unknown, (provider: string) => string> = new Map([
  ['access_denied', (provider) => `You have not let us know who you are at ${provider}`],
  ['login_required', (provider) => `You are not logged in at ${provider}`],
  ['consent_required', (provider) => `${provider} wants you to agree first`],
  ['interaction_required', (provider) => `${provider} wants you to log in there first`],
  ['server_error', (provider) => `${provider} has a problem: try again later`],
  ['temporarily_unavailable', (provider) => `${provider} has a problem: try again later`],
])

const MAX_REASON = 200

/**
 * Runs what asks a provider, within the life of a call.
 * @throws {NotAuthenticated} the provider does not confirm the login
 */
export async function askProvider<T>(
  provider: OAuthProvider,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await provider.run(signal, work)
  } catch (error) {
    signal?.throwIfAborted()
    throw toRefusal(provider.settings.name, error)
  }
}

/**
 * Returns the error of a login that a provider has not confirmed. What the provider says about it
 * may be written by anybody who makes a link, so that it is for the log only.
 * @param provider the name of the strategy
 */
function toRefusal(provider: string, cause: unknown): unknown {
  if (cause instanceof ServiceError) return cause
  const { error } = cause as Record<string, unknown>
  const unreachable = findProviderError(cause)
  if (unreachable !== undefined) {
    const { message: reason } = unreachable
    return createNotAuthenticated(`${provider} can not be asked: try again later`, undefined, {
      reason,
    })
  }
  const text = TEXTS.get(error)?.(provider) ?? `${provider} did not confirm the login`
  return createNotAuthenticated(text, undefined, { reason: describe(cause as Error) })
}

/** Returns what the provider says, else what the library has found wrong. */
function describe(refusal: Error): string {
  const { name, code } = refusal as Error & { readonly code?: unknown }
  const finding = refusal.cause instanceof Error ? refusal.cause : null
  // GitHub sends its errors as if they were tokens, with status 200.
  const { body } = (finding?.cause ?? {}) as { readonly body?: unknown }
  const { error, error_description } = (isObject(body) ? body : refusal) as OAuthError
  const { message } = finding ?? refusal
  // A value that no header can hold stands in the message of the platform, a token perhaps.
  const isPlatform = refusal instanceof TypeError || finding instanceof TypeError
  const known = /^[a-z_]{1,40}$/.test(String(error)) ? error : (code ?? name)
  const parts = [known, error_description ?? (isPlatform ? '' : message)]
  return parts.filter(isNonEmptyString).join(': ').slice(0, MAX_REASON)
}

interface OAuthError {
  readonly error?: unknown
  readonly error_description?: unknown
}
