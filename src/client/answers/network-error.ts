import { ServiceError, Timeout, Unavailable } from '../../core/errors/index.ts'
import { isObject } from '../../core/value-kind.ts'

/** A request as errors tell of it: without id and query, which may be tokens. */
export interface RequestLabel {
  /** The HTTP method. */
  readonly method: string
  /** The URL of the service. */
  readonly path: string
}

/** Codes by which libraries say that their own time limit is up. */
const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  ...['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ECONNABORTED'],
])

/** Codes of connections that were never there, so that nothing was sent. */
const NOT_SENT_CODES: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
])

/**
 * Returns the error for a request that has no answer: {@link Unavailable}, or {@link Timeout}, with
 * what the HTTP library threw as the `cause`. Errors of services and aborts stay what they are.
 */
export function toNetworkError(thrown: unknown, request: RequestLabel): unknown {
  if (thrown instanceof ServiceError) return thrown
  if (isObject(thrown) && thrown['name'] === 'AbortError') return thrown
  // In a browser it is the path of a page's own origin.
  if (request.path.startsWith('/') && !('location' in globalThis)) {
    return new TypeError('Outside of a browser, the base URL needs a host', { cause: thrown })
  }
  const { code = '', address, port } = findSystemError(thrown)
  const reason = code === '' ? '' : ` (${code})`
  const data = {
    ...(code !== '' && { code }),
    ...(address !== undefined && { address }),
    ...(port !== undefined && { port }),
    ...(!NOT_SENT_CODES.has(code) && toOutcome(request)),
  }
  const NetworkError = TIMEOUT_CODES.has(code) ? Timeout : Unavailable
  const message = `No answer from ${request.method} ${request.path}${reason}`
  return new NetworkError(message, data, { cause: toCause(thrown) })
}

/** Where errors of libraries have the whole request, and the token of a login in its headers. */
const REQUEST_HOLDERS = ['config', 'options', 'request'] as const

/** Returns what a library threw, or the error behind it: an error is logged with its causes. */
function toCause(thrown: unknown): unknown {
  if (!isObject(thrown) || !REQUEST_HOLDERS.some((name) => name in thrown)) return thrown
  const { name, message, code, cause } = thrown
  if (cause instanceof Error) return cause
  return Object.assign(new Error(String(message)), { name, ...(code !== undefined && { code }) })
}

/** Returns the error for a request whose time is up. */
export function createTimeout(request: RequestLabel, timeoutMs: number): Timeout {
  const message = `No answer from ${request.method} ${request.path} within ${timeoutMs} ms`
  const cause = new DOMException(message, 'TimeoutError')
  return new Timeout(message, { timeoutMs, ...toOutcome(request) }, { cause })
}

/** Says of a write that it may have been done, as the server does of a database without an answer. */
function toOutcome({ method }: RequestLabel): { errors?: { outcome: 'unknown' } } {
  return method === 'GET' ? {} : { errors: { outcome: 'unknown' } }
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
