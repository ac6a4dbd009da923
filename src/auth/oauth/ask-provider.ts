import { ServiceError } from '../../core/index.ts'
import { createNotAuthenticated } from '../auth-errors.ts'
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
  const { name, message, error, error_description, code } = cause as Record<string, unknown>
  const unreachable = findProviderError(cause)
  if (unreachable !== undefined) {
    const { message: reason } = unreachable
    return createNotAuthenticated(`${provider} can not be asked: try again later`, undefined, {
      reason,
    })
  }
  const text = TEXTS.get(error)?.(provider) ?? `${provider} did not confirm the login`
  // A value that no header can hold stands in the message of the platform, a token perhaps.
  const explanation = cause instanceof TypeError ? '' : message
  const parts = [error ?? code ?? name, error_description ?? explanation]
  const reason = parts.filter(Boolean).join(': ').slice(0, MAX_REASON)
  return createNotAuthenticated(text, undefined, { reason })
}
