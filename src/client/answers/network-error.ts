import { NoResponse, ResponseLate } from '../../core/errors/coded-errors.ts'
import type { Timeout } from '../../core/errors/index.ts'
import { ServiceError } from '../../core/errors/index.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import { isObject } from '../../core/value-kind.ts'

/** A request as errors describe it: without id and query, which may contain tokens. */
export interface RequestLabel {
  /** The HTTP method. */
  readonly method: string
  /** The URL of the service. */
  readonly path: string
}

/** Codes that libraries use for their own timeouts. */
const TIMEOUT_CODE = /^(?:UND_ERR_(?:HEADERS|BODY)_TIMEOUT|ECONNABORTED)$/

/** Codes of connections that were never made or have no trusted certificate: nothing was sent. */
const NOT_SENT_CODE =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$|(?:^|_)CERT(?:_|$)/

/** Codes of calls that the library could not send to a server. */
const MISUSE_CODE =
  /^(?:UND_ERR_INVALID_ARG|ERR_INVALID_ARG_(?:TYPE|VALUE)|ERR_BAD_OPTION(?:_VALUE)?)$/

/** Errors that are each other's cause would loop forever. */
const MAX_CAUSES = 9

/** A query starts at its question mark; when percent-encoded it has no spaces or quotation marks. */
const QUERY = /\?[^\s"<>]+/g

/**
 * Returns the error for a request without a response: `Unavailable`, or `Timeout`, with the error of the
 * HTTP library as the `cause`; a `TypeError` for a request that could not be sent. Errors of services and aborts are
 * returned unchanged.
 * @param url the requested URL, which is not repeated
 */
export function toNetworkError(thrown: unknown, request: RequestLabel, url: string): unknown {
  if (thrown instanceof ServiceError) return thrown
  if (isObject(thrown) && thrown['name'] === 'AbortError') return thrown
  const { method, path } = request
  const [withoutQuery = url] = url.split('?')
  const causes = listCauses(thrown)
  const conceal = (text: unknown): string =>
    String(text).replaceAll(withoutQuery, path).replace(QUERY, '')
  const cause = causes.reduceRight<Error | undefined>(
    (inner, outer) => copyError(outer, conceal, inner),
    undefined,
  )
  // A base URL without a host means the origin of the page, which only browsers have.
  if (path.startsWith('/') && !('location' in globalThis)) {
    return new ArgumentError('Outside of a browser, the base URL needs a host', { cause })
  }
  const code = causes.map((one) => one['code']).find((one) => typeof one === 'string') ?? ''
  if (MISUSE_CODE.test(code) || (code === 'ERR_INVALID_URL' && !URL.canParse(url))) {
    return new ArgumentError(`${method} ${path} cannot be sent (${code})`, { cause })
  }
  const place = causes.find((one) => typeof one['port'] === 'number')
  const data = {
    ...(code && { code }),
    ...(place?.['address'] !== undefined && { address: place['address'] }),
    ...(place && { port: place['port'] }),
    ...(!NOT_SENT_CODE.test(code) && toOutcome(request)),
  }
  const NetworkError = TIMEOUT_CODE.test(code) ? ResponseLate : NoResponse
  const reason = code && ` (${code})`
  return new NetworkError(`No answer from ${method} ${path}${reason}`, data, { cause })
}

/** Returns the error for a request that timed out. */
export function createTimeout(request: RequestLabel, timeoutMs: number): Timeout {
  const message = `No answer from ${request.method} ${request.path} within ${timeoutMs} ms`
  const cause = new DOMException(message, 'TimeoutError')
  return new ResponseLate(message, { timeoutMs, ...toOutcome(request) }, { cause })
}

/** Marks a write as possibly done, as the server does when the database does not respond. */
function toOutcome({ method }: RequestLabel): { errors?: { outcome: 'unknown' } } {
  return method === 'GET' ? {} : { errors: { outcome: 'unknown' } }
}

/**
 * Returns what a library has thrown, and its causes, outermost first: libraries wrap the system's error several times,
 * keep only its code, or have one error per address.
 */
function listCauses(thrown: unknown): Readonly<Record<string, unknown>>[] {
  const causes: Record<string, unknown>[] = []
  for (let error = thrown; error != null && causes.length < MAX_CAUSES; ) {
    const one = isObject(error) ? error : { message: error }
    causes.push(one)
    const { cause, errors } = one
    error = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  return causes
}

/**
 * Returns name, message, code and stack of an error. Nothing else is kept, since errors are logged with their causes,
 * and libraries put whole requests there, with the token in the headers.
 * @param conceal returns a string without the URL of the request
 */
function copyError(
  { name, message, code, stack }: Readonly<Record<string, unknown>>,
  conceal: (text: unknown) => string,
  cause: Error | undefined,
): Error {
  const error = new Error(conceal(message ?? ''), cause && { cause })
  if (typeof stack === 'string') error.stack = conceal(stack)
  const isCode = typeof code === 'string' || typeof code === 'number'
  return Object.assign(error, typeof name === 'string' && { name }, isCode && { code })
}
