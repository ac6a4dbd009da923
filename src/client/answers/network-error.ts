import { ServiceError, Timeout, Unavailable } from '../../core/errors/index.ts'
import { isObject } from '../../core/value-kind.ts'
import { toCause } from './error-cause.ts'

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

/** Codes of calls that no server was asked for: the library can not send them. */
const MISUSE_CODES: ReadonlySet<string> = new Set([
  ...['UND_ERR_INVALID_ARG', 'ERR_INVALID_ARG_TYPE', 'ERR_INVALID_ARG_VALUE'],
  ...['ERR_BAD_OPTION', 'ERR_BAD_OPTION_VALUE'],
])

/**
 * Returns the error for a request that has no answer: {@link Unavailable}, or {@link Timeout}, with
 * what the HTTP library threw as the `cause`; a `TypeError` for a request that could not be sent.
 * Errors of services and aborts stay what they are.
 * @param url the URL that was asked for, which is not repeated
 */
export function toNetworkError(thrown: unknown, request: RequestLabel, url: string): unknown {
  if (thrown instanceof ServiceError) return thrown
  if (isObject(thrown) && thrown['name'] === 'AbortError') return thrown
  const [withoutQuery = url] = url.split('?')
  const cause = toCause(thrown, (text) => text.replaceAll(withoutQuery, request.path))
  // A base URL without a host stands for the origin of the page, which only browsers have.
  if (request.path.startsWith('/') && !('location' in globalThis)) {
    return new TypeError('Outside of a browser, the base URL needs a host', { cause })
  }
  const { code = '' } = findBehind(thrown, 'code')
  const { address, port } = findBehind(thrown, 'port')
  if (MISUSE_CODES.has(code) || (code === 'ERR_INVALID_URL' && !URL.canParse(url))) {
    return new TypeError(`${request.method} ${request.path} can not be sent (${code})`, { cause })
  }
  const reason = code === '' ? '' : ` (${code})`
  const data = {
    ...(code !== '' && { code }),
    ...(address !== undefined && { address }),
    ...(port !== undefined && { port }),
    ...(!NOT_SENT_CODES.has(code) && toOutcome(request)),
  }
  const NetworkError = TIMEOUT_CODES.has(code) ? Timeout : Unavailable
  const message = `No answer from ${request.method} ${request.path}${reason}`
  return new NetworkError(message, data, { cause })
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

/**
 * Returns the first error with a fact about the connection, `{}` for none: libraries wrap what the system
 * said several times, keep the code alone, and have one error for each address.
 */
function findBehind(thrown: unknown, fact: 'code' | 'port'): SystemError {
  const seen = new Set<unknown>()
  const type = fact === 'code' ? 'string' : 'number'
  for (let error = thrown; isObject(error) && !seen.has(error); ) {
    if (typeof error[fact] === type) return error
    seen.add(error)
    error = error['cause'] ?? toFirst(error['errors'])
  }
  return {}
}

function toFirst(errors: unknown): unknown {
  return Array.isArray(errors) ? errors[0] : undefined
}
