import type { IncomingMessage } from 'node:http'
import type { FetchLimits, SentRequest } from '../../../core/network/safe-fetch.ts'
import { getSafeOrigin, SafeFetchError, sendGuarded } from '../../../core/network/safe-fetch.ts'

/** Options of `createProviderFetch()`: allowed targets and limits. */
export interface ProviderFetchOptions extends Omit<FetchLimits, 'cutBody'> {
  /** Whether providers may have addresses in a private network or on this machine, and use `http:` there. */
  readonly allowPrivateNetwork: boolean
}

/** The options of a request, as in `fetch()`. */
export type ProviderRequest = SentRequest

/** Sends a request to a provider, like `fetch()`. The body of the response has already been read. */
export type ProviderFetch = (url: string, init?: ProviderRequest) => Promise<Response>

/**
 * Returns a `fetch()` for providers, whose responses are not trusted: `safeFetch()`, for which redirects and failures of
 * the provider are errors, too. It fits `customFetch` of openid-client and jose. It rejects with a `ProviderError` or
 * with the reason of a signal.
 */
export function createProviderFetch(options: ProviderFetchOptions): ProviderFetch {
  const kind = { ErrorClass: ProviderError, checkHead }
  return (target, init = {}) => sendGuarded(target, init, options, kind)
}

/** A provider is down, slow, or sends something invalid. */
export class ProviderError extends SafeFetchError {
  static override readonly subject: string = 'provider'
  override readonly name: string = 'ProviderError'
}

/** Throws for a redirect, and for a provider that is down or busy. */
function checkHead({ statusCode = 0, headers }: IncomingMessage, url: URL): void {
  if (statusCode >= 300 && statusCode < 400 && statusCode !== 304) {
    const to = `${statusCode} to ${findRedirectTarget(url, headers.location)}`
    throw new ProviderError(url, `returned a redirect (${to}), which is not followed`)
  }
  if (statusCode >= 500 || statusCode === 429) {
    throw new ProviderError(url, `returned status ${statusCode}`)
  }
}

function findRedirectTarget(url: URL, location: string | undefined): string {
  const isValid = location !== undefined && URL.canParse(location, url.href)
  return isValid ? getSafeOrigin(new URL(location, url)) : 'nowhere'
}

/** Returns the `ProviderError` that an error is or was caused by: libraries wrap the errors of the fetch they use. */
export function findProviderError(error: unknown): ProviderError | undefined {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof ProviderError) return one
    seen.add(one)
  }
  return undefined
}
