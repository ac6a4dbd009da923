import { ServiceError, Timeout, Unavailable } from '../core/errors/index.ts'
import { isObject } from '../core/value-kind.ts'

/** Codes by which libraries say that their own time limit is up. */
const TIMEOUT_CODES: ReadonlySet<unknown> = new Set([
  ...['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ECONNABORTED'],
])

/**
 * Returns the error for a request that has no answer: {@link Unavailable}, or {@link Timeout}, with
 * what the HTTP library threw as the `cause`. Errors of services and aborts stay what they are.
 * @param name names the request, without its query: there may be a token in it
 */
export function toNetworkError(thrown: unknown, name: string): unknown {
  if (thrown instanceof ServiceError) return thrown
  if (isObject(thrown) && thrown['name'] === 'AbortError') return thrown
  // In a browser it is the path of a page's own origin.
  if (name.includes(' /') && !('location' in globalThis)) {
    return new TypeError('Outside of a browser, the base URL needs a host', { cause: thrown })
  }
  const { code, address, port } = findSystemError(thrown)
  const reason = code === undefined ? '' : ` (${code})`
  const data = { ...(code && { code }), ...(address && { address }), ...(port && { port }) }
  const NetworkError = TIMEOUT_CODES.has(code) ? Timeout : Unavailable
  return new NetworkError(`No answer from ${name}${reason}`, data, { cause: thrown })
}

interface SystemError {
  readonly code?: string
  readonly address?: string
  readonly port?: number
}

/** Returns what the system said: libraries wrap it several times, and one for each address. */
function findSystemError(thrown: unknown): SystemError {
  for (let error = thrown; isObject(error); error = error['cause'] ?? toFirst(error['errors'])) {
    if (typeof error['code'] === 'string') return error
  }
  return {}
}

function toFirst(errors: unknown): unknown {
  return Array.isArray(errors) ? errors[0] : undefined
}
