import type { OptionRule } from '../core/options/option-rules.ts'
import { checkRules, OPTION } from '../core/options/option-rules.ts'
import { hasMethod, isObject } from '../core/value-kind.ts'
import type { ConnectionOptions, ConnectionParams, ResponseType } from './connection.ts'

/** Options with every default filled in. */
export interface ResolvedConnectionOptions extends Required<ConnectionOptions> {
  readonly timeoutMs: number
  readonly retries: number
  readonly arrayLimit: number
  readonly connection: Readonly<Record<string, unknown>>
  /** What a call says that has no `params.connection`. */
  readonly ofCall: CallOptions
}

/** What `params.connection` of one call says, with the options of the connection behind it. */
export interface CallOptions {
  readonly headers: ConnectionParams['headers']
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number
  readonly retries: number
  readonly responseType: ResponseType
  readonly libraryOptions: Readonly<Record<string, unknown>>
}

const RESPONSE_TYPES: readonly unknown[] = ['json', 'text', 'arrayBuffer', 'blob', 'stream']

const TIME_LIMIT: OptionRule = {
  expected: 'a number of milliseconds above 0',
  isValid: (value) => typeof value === 'number' && value > 0,
}
const HEADERS: OptionRule = { expected: 'an object or a list of pairs', isValid: isObject }

export const CONNECTION_RULES: Readonly<Record<keyof ConnectionOptions, OptionRule>> = {
  headers: HEADERS,
  timeoutMs: TIME_LIMIT,
  retries: OPTION.count,
  arrayLimit: OPTION.limit,
  connection: OPTION.object,
}

const PARAMS_RULES = {
  headers: HEADERS,
  signal: { expected: 'an AbortSignal', isValid: isSignal },
  timeoutMs: TIME_LIMIT,
  retries: OPTION.count,
  responseType: {
    expected: `one of ${RESPONSE_TYPES.join(', ')}`,
    isValid: (value) => RESPONSE_TYPES.includes(value),
  },
} as const satisfies Record<string, OptionRule>

/** Names that libraries know and that would contradict a call, with what is there instead. */
const REFUSED: Readonly<Record<string, string>> = {
  auth: 'it is sent as the header authorization',
  baseURL: 'it is given to rest() or createClient()',
  body: 'the data of the call is the body',
  data: 'the data of the call is the body',
  ignoreResponseError: 'an answer that is no success is an error',
  method: 'it follows from the method of the service',
  onResponseError: 'onResponse is called for every answer',
  origin: 'it is given to rest() or createClient()',
  params: 'params.query is the query',
  parseResponse: 'responseType: "text" leaves the body as it is',
  query: 'params.query is the query',
  responseHeaders: 'headers are read by their names',
  retry: 'it is called retries, and is for find and get alone',
  retryDelay: 'the server says when by Retry-After, see retries',
  retryStatusCodes: 'reads are sent again after 429, 502, 503 and 504, see retries',
  timeout: 'it is called timeoutMs',
  transformRequest: 'the data of the call is the body',
  transformResponse: 'responseType: "text" leaves the body as it is',
  url: 'it follows from the service',
  validateStatus: 'an answer that is no success is an error',
}

/**
 * Returns the options of a connection with their defaults.
 * @param owner who takes them, for errors
 * @throws {TypeError} an option that is unknown, or that a call would contradict
 */
export function resolveConnectionOptions(
  owner: string,
  options: ConnectionOptions,
): ResolvedConnectionOptions {
  checkRules(owner, options, CONNECTION_RULES)
  const { headers, timeoutMs = 60_000, retries = 0, arrayLimit = 20, connection = {} } = options
  const misplaced = Object.keys(PARAMS_RULES).find((name) => name in connection)
  if (misplaced !== undefined) {
    throw new TypeError(`${owner}: the option 'connection' can not hold '${misplaced}'`)
  }
  checkLibraryOptions(`${owner}: connection`, connection)
  const ofCall: CallOptions = {
    headers: undefined,
    signal: undefined,
    timeoutMs,
    retries,
    responseType: 'json',
    libraryOptions: connection,
  }
  return { headers, timeoutMs, retries, arrayLimit, connection, ofCall }
}

/**
 * Returns what one call says about its request.
 * @throws {TypeError} an option with an invalid value, or one that the call would contradict
 */
export function readConnectionParams(
  params: unknown,
  options: ResolvedConnectionOptions,
): CallOptions {
  if (params === undefined) return options.ofCall
  const given: ConnectionParams = isObject(params) ? params : {}
  const { headers, signal, timeoutMs, retries, responseType, ...others } = given
  const own = { headers, signal, timeoutMs, retries, responseType }
  checkRules('params.connection', isObject(params) ? own : params, PARAMS_RULES)
  checkLibraryOptions('params.connection', others)
  return {
    headers,
    signal,
    timeoutMs: timeoutMs ?? options.timeoutMs,
    retries: retries ?? options.retries,
    responseType: responseType ?? 'json',
    libraryOptions: { ...options.connection, ...others },
  }
}

function checkLibraryOptions(owner: string, options: Readonly<Record<string, unknown>>): void {
  const name = Object.keys(options).find((one) => Object.hasOwn(REFUSED, one))
  if (name !== undefined) throw new TypeError(`${owner} can not hold '${name}': ${REFUSED[name]}`)
  const { dispatcher } = options
  if (dispatcher != null && !hasMethod(dispatcher, 'dispatch')) {
    throw new TypeError(`${owner}: 'dispatcher' must be one of undici`)
  }
}

function isSignal(value: unknown): boolean {
  return isObject(value) && 'aborted' in value && typeof value['addEventListener'] === 'function'
}
