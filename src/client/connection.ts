import { ArgumentError } from '../core/errors/setup-errors.ts'
import type { OptionRule } from '../core/options/option-rules.ts'
import {
  COUNT_OPTION,
  checkRules,
  LIMIT_OPTION,
  OBJECT_OPTION,
  POSITIVE_INTEGER_OPTION,
  STRING_LIST_OPTION,
} from '../core/options/option-rules.ts'
import { hasMethod, isObject } from '../core/value-kind.ts'
import type { FeatureOptions } from './client-features.ts'
import { FEATURE_RULES } from './client-features.ts'
import type { RequestHeaders } from './requests/request-headers.ts'

/** The form in which the body of a successful response is read. */
export type ResponseType = 'json' | 'text' | 'arrayBuffer' | 'blob' | 'stream'

/** A complete request, ready to be sent by the HTTP library. */
export interface PreparedRequest {
  /** The HTTP method. */
  readonly method: string
  /** The full URL, or a path for the origin of the page. */
  readonly url: string
  /** Headers with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON, `undefined` for no body. */
  readonly body: string | undefined
  /** Aborts when the caller aborts or the time limit passes. */
  readonly signal: AbortSignal | undefined
  /**
   * The time limit for the response, in milliseconds, `Infinity` for none. The signal aborts then; a limit of the
   * library itself should not be shorter.
   */
  readonly timeoutMs: number
  /**
   * What to do on a redirect. A write must not follow it: it would become a `GET`, and a create would become a search.
   */
  readonly redirect: 'follow' | 'manual'
  /**
   * Whether a redirect must not be followed, whatever the options of the library: a token is in a header that libraries
   * would send to other origins too.
   */
  readonly isBound: boolean
  /** The wanted form of the body of a successful response. */
  readonly responseType: ResponseType
  /** Other options of the call, which are passed to the library. */
  readonly libraryOptions: Readonly<Record<string, unknown>>
}

/** The response to a request, not yet interpreted. */
export interface Answer {
  /** The HTTP status; 0 for a redirect that a browser hides. */
  readonly status: number
  /** Returns the headers with lower-case names. Called only when needed: most calls need none. */
  readHeaders(): Readonly<Record<string, string>>
  /**
   * The body: a string for the types `json` and `text`; for an unsuccessful response it may also be bytes or a stream.
   */
  readonly body: unknown
}

/** Options that all calls of a connection share. */
export interface ConnectionOptions extends FeatureOptions {
  /** Headers of every request; those of a call override them. Default: `accept: application/json`. */
  readonly headers?: RequestHeaders | undefined
  /** Time limit for a response, in milliseconds; `Infinity` for none. Default: 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * How many times a `find` or `get` is repeated while there is no connection or the server returns 429, 502, 503 or
   * 504: after its `Retry-After`, or after 250 ms, 500 ms and so on. The time limit includes all repeats. A write is
   * repeated only with an `Idempotency-Key`. Default: 0.
   */
  readonly retries?: number | undefined
  /**
   * The services whose writes get a new `Idempotency-Key`: a list of paths, or `true` for all. With `retries`, these
   * writes are repeated too, each with the same key. The server must honour the key, with `idempotent()`, or it
   * performs the write twice. Default: none.
   */
  readonly idempotencyKeys?: boolean | readonly string[] | undefined
  /**
   * The longest list that the server recognizes anywhere in a query, as in its `rest({ query: { arrayLimit } })`. A
   * longer list is rejected where the server would not recognize it. Default: 20.
   */
  readonly arrayLimit?: number | undefined
  /**
   * The longest URL of a `find`, in characters. A longer query is sent as a body, if the server accepts it with `rest({
   * queryBodies: true })`. Default: any length.
   */
  readonly maxURLLength?: number | undefined
  /** Options of the HTTP library for every request: `{ credentials: 'include' }`. Default: `{}`. */
  readonly connection?: Readonly<Record<string, unknown>> | undefined
}

/**
 * `params.connection` of a call. `headers`, `timeoutMs` and `retries` override those of the connection; unknown names
 * are passed to the HTTP library.
 */
export interface ConnectionParams
  extends Pick<ConnectionOptions, 'headers' | 'timeoutMs' | 'retries'> {
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** The form in which the body of a successful response is read. Default: `'json'`. */
  readonly responseType?: ResponseType | undefined
  /** Options of the HTTP library, such as `credentials` of fetch. */
  readonly [option: string]: unknown
}

/** Options with all defaults filled in. */
export interface ResolvedConnectionOptions extends Required<ConnectionOptions> {
  readonly timeoutMs: number
  readonly retries: number
  readonly idempotencyKeys: boolean | readonly string[]
  readonly arrayLimit: number
  readonly connection: Readonly<Record<string, unknown>>
}

/** The options of one call, with those of the connection as defaults. */
type CallOptions = Pick<ResolvedConnectionOptions, 'headers' | 'timeoutMs' | 'retries'> &
  Pick<PreparedRequest, 'signal' | 'responseType' | 'libraryOptions'>

const RESPONSE_TYPES: readonly unknown[] = ['json', 'text', 'arrayBuffer', 'blob', 'stream']

/** Options of both a call and a connection. */
const SHARED_RULES = {
  headers: { expected: 'an object or a list of pairs', isValid: isObject },
  timeoutMs: {
    expected: 'a number of milliseconds above 0',
    isValid: (value) => typeof value === 'number' && value > 0,
  },
  retries: COUNT_OPTION,
} as const satisfies Record<string, OptionRule>

export const CONNECTION_RULES: Readonly<Record<keyof ConnectionOptions, OptionRule>> = {
  ...SHARED_RULES,
  idempotencyKeys: {
    expected: 'true, false or a list of paths',
    isValid: (value) => typeof value === 'boolean' || STRING_LIST_OPTION.isValid(value),
  },
  arrayLimit: LIMIT_OPTION,
  maxURLLength: POSITIVE_INTEGER_OPTION,
  connection: OBJECT_OPTION,
  ...FEATURE_RULES,
}

const PARAMS_RULES = {
  ...SHARED_RULES,
  signal: {
    expected: 'an AbortSignal',
    isValid: (value) =>
      isObject(value) && 'aborted' in value && hasMethod(value, 'addEventListener'),
  },
  responseType: {
    expected: `one of ${RESPONSE_TYPES.join(', ')}`,
    isValid: (value) => RESPONSE_TYPES.includes(value),
  },
} as const satisfies Record<string, OptionRule>

/** Names that libraries know but that would contradict a call, by their counterpart here. */
const REFUSED: Readonly<Record<string, string>> = {
  'a top-level option': 'headers retries timeoutMs',
  'an option of params.connection': 'responseType signal',
  'called onResponse': 'onResponseError',
  'called retries': 'retry retryDelay retryStatusCodes',
  'called timeoutMs': 'timeout',
  'decided by the client': 'ignoreResponseError method responseHeaders url validateStatus',
  'given to rest() or createClient()': 'baseURL origin',
  'params.query': 'params query',
  "responseType: 'text'": 'parseResponse transformResponse',
  'the data of the call': 'body data transformRequest',
  'the header authorization': 'auth',
}

/**
 * Returns the options of a connection with their defaults.
 * @throws {TypeError} an option is unknown, or a call would contradict it
 */
export function resolveConnectionOptions(options: ConnectionOptions): ResolvedConnectionOptions {
  checkRules('The connection', options, CONNECTION_RULES)
  const { connection = {} } = options
  checkLibraryOptions('The connection: connection', connection)
  return {
    ...(options as Required<ConnectionOptions>),
    timeoutMs: options.timeoutMs ?? 60_000,
    retries: options.retries ?? 0,
    idempotencyKeys: options.idempotencyKeys ?? false,
    arrayLimit: options.arrayLimit ?? 20,
    connection,
  }
}

/**
 * Returns the options of one call.
 * @throws {TypeError} an option has an invalid value, or contradicts the call
 */
export function readConnectionParams(
  params: unknown,
  options: ResolvedConnectionOptions,
): CallOptions {
  const given: ConnectionParams = isObject(params) ? params : {}
  const { timeoutMs = options.timeoutMs, retries = options.retries, ...more } = given
  const { headers, signal, responseType = 'json', ...libraryOptions } = more
  const own = { headers, signal, timeoutMs, retries, responseType }
  // Most calls have none.
  if (params !== undefined) {
    checkRules('params.connection', isObject(params) ? own : params, PARAMS_RULES)
    checkLibraryOptions('params.connection', libraryOptions)
  }
  return { ...own, libraryOptions: { ...options.connection, ...libraryOptions } }
}

function checkLibraryOptions(owner: string, options: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(options)
  for (const [instead, refused] of Object.entries(REFUSED)) {
    const name = refused.split(' ').find((one) => names.includes(one))
    if (name !== undefined) {
      throw new ArgumentError(`${owner} cannot hold '${name}': it is ${instead}`)
    }
  }
  const { dispatcher } = options
  if (dispatcher != null && !hasMethod(dispatcher, 'dispatch')) {
    throw new ArgumentError(`${owner}: 'dispatcher' must be one of undici`)
  }
}
