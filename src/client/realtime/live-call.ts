import type { Query } from '../../core/params.ts'
import { findServiceEntry } from '../../core/services/service-entry.ts'
import { isObject } from '../../core/value-kind.ts'
import { checkType, isSuccess } from '../answers/response-error.ts'
import type { Answer, ConnectionParams, PreparedRequest } from '../connection.ts'
import { FetchClient, OfetchClient } from '../libraries/fetch-connection.ts'
import { RemoteService } from '../remote-service.ts'
import type { RequestHeaders } from '../requests/request-headers.ts'
import { mergeHeaders } from '../requests/request-headers.ts'
import { createServiceURL } from '../requests/service-url.ts'
import type { SubscriptionParams } from './live-event.ts'

/** The media type of server-sent events. */
const EVENTS = 'text/event-stream'

/** The calls that a subscription makes. */
export interface LiveCall {
  readonly service: RemoteService
  /** The path below the base URL, with the query string of `find`. */
  readonly url: string
  /** Equal, item by item, for subscriptions that can share a connection: server, library, headers, options. */
  readonly shared: readonly unknown[]
  /** Resolves to the bytes of the events of all these subscriptions, sent with the login like any call. */
  open(subscriptions: readonly object[], signal: AbortSignal): Promise<ReadableStream<Uint8Array>>
  /** Resolves to a snapshot. */
  find(): Promise<unknown>
}

/**
 * Returns the calls of a subscription. Hooks of the client do not run for them.
 * @param sharedPath where the server sends the events of many subscriptions
 * @throws {BadRequest} a query or a header cannot be sent
 */
export function createLiveCall(
  service: RemoteService,
  params: SubscriptionParams,
  sharedPath: string,
): LiveCall {
  const { headers: given, connection, signal: _signal, ...others } = params
  const own: ConnectionParams = isObject(connection) ? connection : {}
  const { headers: ownHeaders, signal: _ownSignal, responseType: _type, ...options } = own
  const headers = mergeHeaders(given as RequestHeaders | undefined, ownHeaders)
  const find = findServiceEntry(service)?.methods.get('find')?.original ?? service.find
  const path = createServiceURL('', service.name).fill(others['route']) || '/'
  return {
    service,
    url: path + service.getQuery((others['query'] ?? {}) as Query),
    shared: [
      ...[service.base, service.connection, service.constructor, service.options.headers],
      ...[JSON.stringify(headers), ...Object.entries(service.options.connection).flat()],
      ...Object.entries(options).flat(),
    ],
    async open(subscriptions, signal) {
      const sent = { ...options, headers: { ...headers, accept: EVENTS }, retries: 0, signal }
      const params = { connection: { ...sent, responseType: 'stream' } }
      const { create } = RemoteService.prototype
      const body = await create.call(toStreaming(service, sharedPath), { subscriptions }, params)
      // A fetch function for Node may return a stream of Node.
      return new Response(body as ReadableStream).body as ReadableStream<Uint8Array>
    },
    find: async () => find.call(service, { ...others, connection: { ...options, headers } }),
  }
}

/**
 * Returns a service with the login of another one, at the path of live queries. Its requests use fetch: libraries for
 * browsers have no streams.
 */
function toStreaming(service: RemoteService, path: string): RemoteService {
  const isFetch = service instanceof FetchClient || service instanceof OfetchClient
  const sender = isFetch ? service : Object.create(service, { connection: { value: fetch } })
  const send = isFetch ? service.sendRequest : FetchClient.prototype.sendRequest
  const sendRequest = async (request: PreparedRequest): Promise<Answer> => {
    const answer = await send.call(sender, request)
    if (!isSuccess(answer.status) && answer.status !== 404) return answer
    const reason = 'it has no live queries, or a proxy changes the answer'
    return checkType(answer, EVENTS, `a stream of events: ${reason}`)
  }
  return Object.create(service, {
    name: { value: path },
    serviceURL: { value: createServiceURL(service.base, path) },
    addsKeys: { value: false },
    sendRequest: { value: sendRequest },
  })
}
