import { CursorsUnsupported, InvalidCall } from '../core/errors/coded-errors.ts'
import { ArgumentError } from '../core/errors/setup-errors.ts'
import { isStandardMethod, toMethodSpec } from '../core/method-table.ts'
import { isOptionsObject } from '../core/options/option-rules.ts'
import type { NullableId, Query, RecordId } from '../core/params.ts'
import { toServicePath } from '../core/services/service-input.ts'
import { isMethodName } from '../core/services/service-options.ts'
import { EXPORT, RECORD_LINES, readRecords } from './answers/record-lines.ts'
import { toWriteHeaders } from './client-features.ts'
import type {
  Answer,
  ConnectionOptions,
  ConnectionParams,
  PreparedRequest,
  ResolvedConnectionOptions,
} from './connection.ts'
import { readConnectionParams, resolveConnectionOptions } from './connection.ts'
import { toQueryString } from './requests/query-string.ts'
import { toBody } from './requests/request-body.ts'
import type { RequestHeaders } from './requests/request-headers.ts'
import {
  createKey,
  IDEMPOTENCY_KEY,
  mergeHeaders,
  SERVICE_METHOD,
} from './requests/request-headers.ts'
import type { ServiceURL } from './requests/service-url.ts'
import { createServiceURL, encodeSegment, toBaseURL } from './requests/service-url.ts'
import type { SentHeaders } from './sent-call.ts'
import { sendCall } from './sent-call.ts'

/** The settings of a remote service. */
export interface RemoteServiceSettings {
  /** The path of the service on the server. */
  readonly name: string
  /** The base URL of the server's services. */
  readonly base: string
  /** The HTTP library. */
  readonly connection: unknown
  /** The options of the connection. */
  readonly options?: ConnectionOptions
}

/** The arguments of a call. */
interface Call {
  readonly method: string
  readonly id?: unknown
  readonly data?: unknown
  readonly params: unknown
  /** The media type of a stream; other types are rejected. Default: the response is not a stream. */
  readonly accept?: string
}

type CustomMethod = (data?: unknown, params?: object) => Promise<unknown>

/**
 * A service on a server. Its methods fail with the errors of the server, with `Unavailable` or `Timeout` if there is no
 * response, and with `BadRequest`, before anything is sent, if the server would misread the call.
 */
export abstract class RemoteService {
  /** The path of the service on the server. */
  readonly name: string
  /** The base URL of the server's services. */
  readonly base: string
  /** The HTTP library. */
  readonly connection: unknown
  /** The options of the connection, with their defaults. */
  readonly options: ResolvedConnectionOptions
  // These fields are not `#private`: an object derived from a service, as in a Feathers application, and a proxy, as in
  // reactive state, would lack them.
  private readonly serviceURL: ServiceURL
  private readonly addsKeys: boolean
  private readonly ownHeaders: SentHeaders
  private readonly customMethods = new Set<string>()

  /** @throws {TypeError} an option, the base URL or a part of the path is invalid */
  constructor({ name, base, connection, options = {} }: RemoteServiceSettings) {
    this.name = name
    this.base = toBaseURL(base)
    this.connection = connection
    this.options = resolveConnectionOptions(options)
    this.serviceURL = createServiceURL(this.base, name)
    this.ownHeaders = mergeHeaders(this.options.headers)
    const { idempotencyKeys } = this.options
    this.addsKeys = Array.isArray(idempotencyKeys)
      ? idempotencyKeys.some((path) => toServicePath(path) === toServicePath(name))
      : idempotencyKeys === true
  }

  /** Sends a request. Resolves to the response, whatever its status. */
  abstract sendRequest(request: PreparedRequest): Promise<Answer>

  /** Resolves to the result of `find` on the server: a page or a list. */
  find(params?: object): Promise<unknown> {
    return this.callRemote({ method: 'find', params })
  }

  /**
   * Returns the records of a query one by one, page by page: `$limit` is the size of a page. The loop throws the errors
   * of `find`.
   * @throws {NotImplemented} the service does not return pages with cursors
   */
  async *each(params?: object): AsyncGenerator<unknown, void, undefined> {
    const given = toParams(params)
    const { $after = '', ...others } = toQuery(given)
    for (let cursor: unknown = $after; cursor !== null; ) {
      const page = await this.find({ ...given, query: { ...others, $after: cursor } })
      const { data, nextCursor } = (page ?? {}) as { data?: unknown; nextCursor?: unknown }
      // A server that does not know `$after` would return the first page forever.
      if (!Array.isArray(data) || nextCursor === undefined || nextCursor === cursor) {
        throw new CursorsUnsupported(`The service '${this.name}' has no pages with cursors`)
      }
      yield* data
      cursor = nextCursor
    }
  }

  /**
   * Returns all records that `find` of the server finds, without pages, as they arrive. The request starts with the
   * first `next()` and ends with the loop. Hooks of the client do not run.
   */
  stream(params?: object): AsyncIterableIterator<unknown, void, undefined> {
    const { connection } = toParams(params) as { readonly connection?: ConnectionParams }
    const call = { method: 'find', params, accept: RECORD_LINES }
    return readRecords(() => this.callRemote(call), connection?.signal)
  }

  /** Resolves to one record. */
  get(id: RecordId, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'get', id, params })
  }

  /** Resolves to the new record, or to the new records of a list. */
  create(data: unknown, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'create', data, params })
  }

  /** Resolves to the replaced record. */
  update(id: NullableId | RecordId, data: unknown, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'update', id, data, params })
  }

  /** Resolves to the changed record, or with the id `null` to all changed records. */
  patch(id: NullableId | RecordId, data: unknown, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'patch', id, data, params })
  }

  /** Resolves to the removed record, or with the id `null` to all removed records. */
  remove(id: NullableId | RecordId, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'remove', id, params })
  }

  /**
   * Adds custom methods, which are called as `(data, params)`. Returns the service.
   * @throws {TypeError} a name is not allowed for a custom method
   */
  methods(...names: readonly string[]): this {
    for (const method of names) {
      if (this.customMethods.has(method)) continue
      // Each `await` of the service would call a method named `then`.
      if (!isMethodName(method) || method in this || method === 'then') {
        throw new ArgumentError(`'${method}' cannot be the name of a custom method`)
      }
      const value: CustomMethod = (data, params) => this.callRemote({ method, data, params })
      // The method is not enumerable, as those of the class are not.
      Object.defineProperty(this, method, { value, configurable: true, writable: true })
      this.customMethods.add(method)
    }
    return this
  }

  /**
   * Returns the part of the URL for a query, starting with `?`; `''` for none. Override it for a server that reads
   * queries differently.
   * @throws {BadRequest} the server would misread a part of the query
   */
  getQuery(query: Query): string {
    const queryString = toQueryString(query, this.options.arrayLimit)
    return queryString === '' ? '' : `?${queryString}`
  }

  private async callRemote(call: Call): Promise<unknown> {
    const { method, id, data, accept } = call
    const params = toParams(call.params)
    const { verb, withId } = toMethodSpec(method)
    const options = readConnectionParams(params['connection'], this.options)
    const { signal, timeoutMs, retries, libraryOptions } = options
    if (accept !== undefined && options.responseType !== 'json') {
      throw new ArgumentError("stream() reads records: 'responseType' is for find()")
    }
    const responseType = accept === undefined ? options.responseType : 'stream'
    const servicePath = this.serviceURL.fill(params['route'])
    // The id `null` means many records, in the methods that change them.
    const isOfOne = withId && (id !== null || verb === 'GET')
    const idPath = isOfOne ? `/${encodeSegment(id, `id for .${method}`)}` : ''
    // Reads headers once: an iterator cannot be read again.
    const headers = mergeHeaders(params['headers'] as RequestHeaders | undefined, options.headers)
    // An empty URL would be the current page of a browser.
    const path = servicePath + idPath || '/'
    const query = toQuery(params)
    const inURL = this.getQuery(query)
    const { maxURLLength = Number.POSITIVE_INFINITY } = this.options
    const isLong = method === 'find' && path.length + inURL.length > maxURLLength
    const sentVerb = isLong ? 'POST' : verb
    const url = isLong ? path : path + inURL
    const body = toBody(isLong ? query : data)
    const requestHeaders: SentHeaders = {
      accept: responseType === 'json' ? 'application/json' : '*/*',
      ...(verb !== 'GET' && this.addsKeys && { [IDEMPOTENCY_KEY]: createKey() }),
      ...this.ownHeaders,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(verb !== 'GET' && toWriteHeaders(params)),
      ...headers,
      ...(accept !== undefined && { accept }),
      ...((isLong || !isStandardMethod(method)) && { [SERVICE_METHOD]: method }),
    }
    // Without a key, the server might perform a write twice.
    const isRepeatable = verb === 'GET' || IDEMPOTENCY_KEY in requestHeaders
    return sendCall(this, {
      method,
      headers,
      accept,
      signal,
      retries: isRepeatable ? retries : 0,
      label: { method: verb, path: this.serviceURL.pattern },
      isExport: responseType !== 'stream' && EXPORT.test(requestHeaders['accept'] ?? ''),
      request: {
        method: sentVerb,
        url,
        headers: requestHeaders,
        body,
        timeoutMs,
        responseType,
        libraryOptions,
      },
    })
  }
}

function toParams(params: unknown): Readonly<Record<string, unknown>> {
  if (params === undefined || params === null) return {}
  if (isOptionsObject(params)) return params
  throw new ArgumentError('The params must be an object')
}

/** Returns the query of a call. An invalid one is rejected: otherwise the call would affect all records. */
function toQuery({ query = {} }: Readonly<Record<string, unknown>>): Query {
  if (isOptionsObject(query)) return query
  throw new InvalidCall('params.query must be an object')
}
