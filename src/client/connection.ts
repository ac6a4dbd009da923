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

/** How the body of a successful answer is read. */
export type ResponseType = 'json' | 'text' | 'arrayBuffer' | 'blob' | 'stream'

/** A request, complete but for the HTTP library that sends it. */
export interface PreparedRequest {
  /** The HTTP method. */
  readonly method: string
  /** The whole URL, or a path for the origin of the page. */
  readonly url: string
  /** Headers with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON, `undefined` for no body. */
  readonly body: string | undefined
  /** Aborts when the caller gives up, or the time is up. */
  readonly signal: AbortSignal | undefined
  /**
   * The longest time for the answer, in milliseconds, `Infinity` for no limit. The signal aborts then;
   * a limit of the library's own should not be shorter.
   */
  readonly timeoutMs: number
  /**
   * What to do where the server redirects. A write is not to follow: on the way it would become a
   * `GET`, and a record that is created be searched.
   */
  readonly redirect: 'follow' | 'manual'
  /**
   * Whether a redirect must not be followed, whatever options of the library say: a token is in a
   * header that libraries send to other origins as well.
   */
  readonly isBound: boolean
  /** What the body of a successful answer is wanted as. */
  readonly responseType: ResponseType
  /** Further options of the call, which the library knows. */
  readonly libraryOptions: Readonly<Record<string, unknown>>
}

/** What came back for a request, before anything is made of it. */
export interface Answer {
  /** The HTTP status; 0 for a redirect that a browser does not show. */
  readonly status: number
  /** Returns the headers with lower-case names. Called where they are needed: most calls do without. */
  readHeaders(): Readonly<Record<string, string>>
  /**
   * The body: a string for the types `json` and `text`, unless the answer is no success: of that it
   * may be bytes or a stream as well.
   */
  readonly body: unknown
}

/** Options that all calls of a connection share. */
export interface ConnectionOptions extends FeatureOptions {
  /** Headers of every request; those of a call win. Default: `accept: application/json`. */
  readonly headers?: RequestHeaders | undefined
  /** Longest time for an answer, in milliseconds; `Infinity` for no limit. Default: 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * How many times a `find` or `get` is sent again, while there is no connection or the server answers
   * 429, 502, 503 or 504: when its `Retry-After` says, or after a quarter of a second, a half, and so
   * on. The time limit holds for all of it. A write is sent again only with an `Idempotency-Key`. Default: 0.
   */
  readonly retries?: number | undefined
  /**
   * The services whose writes get a new `Idempotency-Key`: a list of paths, or `true` for all. With `retries`,
   * these writes are sent again as well, each time with the same key. The server has to heed it, by
   * `idempotent()`, or it does the write twice. Default: none.
   */
  readonly idempotencyKeys?: boolean | readonly string[] | undefined
  /**
   * The longest list in a query that the server reads as a list wherever it stands, as its
   * `rest({ query: { arrayLimit } })`. A longer one is refused where the server would not know that a
   * list is meant. Default: 20.
   */
  readonly arrayLimit?: number | undefined
  /**
   * The longest URL of a `find`, in characters. A longer query is sent as a body, if the server takes it: by
   * `rest({ queryBodies: true })`. Default: any length.
   */
  readonly maxURLLength?: number | undefined
  /** Options of the HTTP library for every request: `{ credentials: 'include' }`. Default: `{}`. */
  readonly connection?: Readonly<Record<string, unknown>> | undefined
}

/**
 * `params.connection` of a call. Its `headers`, `timeoutMs` and `retries` win over those of the
 * connection; names that are not here go to the HTTP library as they are.
 */
export interface ConnectionParams
  extends Pick<ConnectionOptions, 'headers' | 'timeoutMs' | 'retries'> {
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** How the body of a successful answer is read. Default: `'json'`. */
  readonly responseType?: ResponseType | undefined
  /** Options of the HTTP library: `credentials` of fetch. */
  readonly [option: string]: unknown
}

/** Options with every default filled in. */
export interface ResolvedConnectionOptions extends Required<ConnectionOptions> {
  readonly timeoutMs: number
  readonly retries: number
  readonly idempotencyKeys: boolean | readonly string[]
  readonly arrayLimit: number
  readonly connection: Readonly<Record<string, unknown>>
}

/** What `params.connection` of one call says, with the options of the connection behind it. */
type CallOptions = Pick<ResolvedConnectionOptions, 'headers' | 'timeoutMs' | 'retries'> &
  Pick<PreparedRequest, 'signal' | 'responseType' | 'libraryOptions'>

const RESPONSE_TYPES: readonly unknown[] = ['json', 'text', 'arrayBuffer', 'blob', 'stream']

/** What one call can say as well as the connection. */
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

/** Names that libraries know and that would contradict a call, by what each of them is here. */
const REFUSED: Readonly<Record<string, string>> = {
  'an option beside connection': 'headers retries timeoutMs',
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
 * @throws {TypeError} an option that is unknown, or that a call would contradict
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
 * Returns what one call says about its request.
 * @throws {TypeError} an option with an invalid value, or one that the call would contradict
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
      throw new TypeError(`${owner} can not hold '${name}': it is ${instead}`)
    }
  }
  const { dispatcher } = options
  if (dispatcher != null && !hasMethod(dispatcher, 'dispatch')) {
    throw new TypeError(`${owner}: 'dispatcher' must be one of undici`)
  }
}
