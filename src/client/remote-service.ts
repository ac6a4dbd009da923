import { BadRequest } from '../core/errors/index.ts'
import type { MethodSpec } from '../core/method-table.ts'
import { isStandardMethod, toMethodSpec } from '../core/method-table.ts'
import type { Id, IdObject, NullableId, Query } from '../core/params.ts'
import { isMethodName } from '../core/services/service-options.ts'
import { isObject } from '../core/value-kind.ts'
import { isSuccess, readErrorBody } from './answers/error-body.ts'
import { createTimeout, toNetworkError } from './answers/network-error.ts'
import { sendRead } from './answers/read-retries.ts'
import { omitRedirectOptions, refuseRedirect, toRedirectRule } from './answers/redirects.ts'
import { readResult } from './answers/response-result.ts'
import { limitCall } from './answers/time-limit.ts'
import { findAuthorizer } from './authorizer.ts'
import type { Answer, ConnectionOptions, PreparedRequest } from './connection.ts'
import type { ResolvedConnectionOptions } from './connection-options.ts'
import { readConnectionParams, resolveConnectionOptions } from './connection-options.ts'
import { encodeSegment } from './requests/percent-encoding.ts'
import { toQueryString } from './requests/query-string.ts'
import { toBody } from './requests/request-body.ts'
import type { RequestHeaders } from './requests/request-headers.ts'
import { mergeHeaders, SERVICE_METHOD } from './requests/request-headers.ts'
import type { ServiceURL } from './requests/service-url.ts'
import { createServiceURL, toBaseURL } from './requests/service-url.ts'

/** What a remote service is made of. */
export interface RemoteServiceSettings {
  /** The path of the service on the server. */
  readonly name: string
  /** The URL that the services of the server are below. */
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
}

type SentHeaders = Readonly<Record<string, string>>

type CustomMethod = (data?: unknown, params?: object) => Promise<unknown>

/**
 * A service of a server elsewhere. Its methods fail with the errors of the server, with `Unavailable`
 * or `Timeout` where there is no answer, and with `BadRequest` before anything is sent, where the
 * server would read something else than what is meant.
 */
export abstract class RemoteService {
  /** The path of the service on the server. */
  readonly name: string
  /** The URL that the services of the server are below. */
  readonly base: string
  /** The HTTP library. */
  readonly connection: unknown
  /** The options of the connection, with their defaults. */
  readonly options: ResolvedConnectionOptions
  // The fields are not `#private`: an object derived from a service has no such fields, as the
  // services of an application of Feathers are, nor has a proxy, as those of reactive state are.
  private readonly serviceURL: ServiceURL
  private readonly ownHeaders: Readonly<Record<string, string>>
  private readonly customMethods = new Set<string>()

  /** @throws {TypeError} an option, the base URL or a part of the path is invalid */
  constructor({ name, base, connection, options = {} }: RemoteServiceSettings) {
    this.name = name
    this.base = toBaseURL(base)
    this.connection = connection
    this.options = resolveConnectionOptions('The connection', options)
    this.serviceURL = createServiceURL(this.base, name)
    this.ownHeaders = mergeHeaders(this.options.headers)
  }

  /** Sends a request. Resolves to the answer, whatever its status is. */
  abstract sendRequest(request: PreparedRequest): Promise<Answer>

  /** Resolves to what `find` of the server resolves to: a page or a list. */
  find(params?: object): Promise<unknown> {
    return this.callRemote({ method: 'find', params })
  }

  /** Resolves to one record. */
  get(id: Id | IdObject, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'get', id, params })
  }

  /** Resolves to the new record, or to the new records of a list. */
  create(data: unknown, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'create', data, params })
  }

  /** Resolves to the record after it was replaced. */
  update(id: NullableId | IdObject, data: unknown, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'update', id, data, params })
  }

  /** Resolves to the record after the change, with the id `null` to all that were changed. */
  patch(id: NullableId | IdObject, data: unknown, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'patch', id, data, params })
  }

  /** Resolves to the record that was removed, with the id `null` to all that were. */
  remove(id: NullableId | IdObject, params?: object): Promise<unknown> {
    return this.callRemote({ method: 'remove', id, params })
  }

  /**
   * Adds custom methods, which are called as `(data, params)`. Returns the service.
   * @throws {TypeError} a name that no custom method can have
   */
  methods(...names: readonly string[]): this {
    for (const method of names) {
      if (this.customMethods.has(method)) continue
      // A method named `then` would be called by each `await` of the service.
      if (!isMethodName(method) || method in this || method === 'then') {
        throw new TypeError(`'${method}' can not be the name of a custom method`)
      }
      const call: CustomMethod = (data, params) => this.callRemote({ method, data, params })
      // The method is not enumerable, as those of the class are not.
      Object.defineProperty(this, method, { value: call, configurable: true, writable: true })
      this.customMethods.add(method)
    }
    return this
  }

  /**
   * Returns the part of the URL that a query becomes, from `?` on, `''` for none. To be overridden
   * where the server reads queries in a way of its own.
   * @throws {BadRequest} a part of the query that the server would read as something else
   */
  getQuery(query: Query): string {
    const queryString = toQueryString(query, this.options.arrayLimit)
    return queryString === '' ? '' : `?${queryString}`
  }

  private async callRemote(call: Call): Promise<unknown> {
    const { method, data, params: given } = call
    const params = toParams(given)
    const spec = toMethodSpec(method)
    const options = readConnectionParams(params['connection'], this.options)
    const { headers, signal, timeoutMs, retries, responseType, libraryOptions } = options
    const servicePath = this.serviceURL.fill(params['route'])
    // An empty URL would be the page that a browser shows.
    const path = servicePath + toIdPath(spec, call) || '/'
    const body = toBody(data)
    // Headers are read once: an iterator of them can not be read again.
    const ownHeaders = mergeHeaders(params['headers'] as RequestHeaders | undefined, headers)
    const url = path + this.getQuery(toQuery(params))
    const requestHeaders: SentHeaders = {
      accept: responseType === 'json' ? 'application/json' : '*/*',
      ...this.ownHeaders,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...ownHeaders,
      ...(!isStandardMethod(method) && { [SERVICE_METHOD]: method }),
    }
    const { verb } = spec
    const label = { method: verb, path: this.serviceURL.pattern }
    const send = async (ended?: AbortSignal, more?: SentHeaders): Promise<Answer> => {
      const rule = toRedirectRule(verb, more)
      const { redirect, isBound } = rule
      // Written out: an object of many parts takes longer than the rest of this function.
      const request: PreparedRequest = {
        method: verb,
        url,
        headers: more === undefined ? requestHeaders : { ...requestHeaders, ...more },
        body,
        signal: ended,
        timeoutMs,
        redirect,
        isBound,
        responseType,
        libraryOptions: isBound ? omitRedirectOptions(libraryOptions) : libraryOptions,
      }
      try {
        const answer = await this.sendRequest(request)
        if (isSuccess(answer.status)) return answer
        return refuseRedirect(await readErrorBody(answer), rule)
      } catch (error) {
        throw toNetworkError(error, label, url)
      }
    }
    const sendOnce = (ended: AbortSignal | undefined): Promise<Answer> => {
      const authorize = findAuthorizer(this)
      if (authorize === undefined) return send(ended)
      return authorize({
        service: this,
        method,
        headers: ownHeaders,
        signal: ended,
        send: (more) => send(ended, more),
      })
    }
    const start = async (ended: AbortSignal | undefined): Promise<unknown> => {
      const answer =
        verb === 'GET' && retries > 0
          ? sendRead(() => sendOnce(ended), { retries, signal: ended })
          : sendOnce(ended)
      return readResult(await answer, responseType)
    }
    const limits = { signal, timeoutMs, isStream: responseType === 'stream' }
    return limitCall(limits, start, (limitMs) => createTimeout(label, limitMs))
  }
}

function toParams(params: unknown): Readonly<Record<string, unknown>> {
  if (params === undefined || params === null) return {}
  if (isObject(params) && !Array.isArray(params)) return params
  throw new TypeError('The params must be an object')
}

/** Returns the query of a call. One that is none is refused: the call would be for all records. */
function toQuery({ query }: Readonly<Record<string, unknown>>): Query {
  if (query === undefined) return {}
  if (isObject(query) && !Array.isArray(query)) return query
  throw new BadRequest('params.query must be an object')
}

/** `null` stands for many records, in the methods that change them. */
function toIdPath({ withId, verb }: MethodSpec, { method, id }: Call): string {
  if (!withId || (id === null && verb !== 'GET')) return ''
  return `/${encodeSegment(id, `id for .${method}`)}`
}
