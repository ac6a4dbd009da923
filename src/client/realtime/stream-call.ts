import type { Query } from '../../core/params.ts'
import { findServiceEntry } from '../../core/services/service-entry.ts'
import { isObject } from '../../core/value-kind.ts'
import { checkType, isSuccess } from '../answers/response-error.ts'
import type { Answer, ConnectionParams, PreparedRequest } from '../connection.ts'
import { FetchClient, OfetchClient } from '../libraries/fetch-connection.ts'
import type { RemoteService } from '../remote-service.ts'
import type { RequestHeaders } from '../requests/request-headers.ts'
import { mergeHeaders } from '../requests/request-headers.ts'
import type { SubscriptionParams } from './live-event.ts'

/** The media type of server-sent events. */
const EVENTS = 'text/event-stream'

/** The calls that a subscription is made of. */
export interface StreamCall {
  /** The same for subscriptions that can share a connection: route, query string and headers. */
  readonly key: string
  /** Resolves to the bytes of the events that follow one with this id, or of all from now on. */
  open(lastId: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>
  /** Resolves to what a snapshot is. */
  find(): Promise<unknown>
}

/**
 * Returns the calls of a subscription. Both are calls of `find`, with the URL, the headers, the login
 * and the errors of any call, but without the hooks of the client: their result would be a stream.
 * @throws {BadRequest} a query or a header that can not be sent
 */
export function createStreamCall(service: RemoteService, params: SubscriptionParams): StreamCall {
  const { headers: given, connection, signal: _signal, ...others } = params
  const own: ConnectionParams = isObject(connection) ? connection : {}
  const { headers: ownHeaders, signal: _ownSignal, responseType: _type, ...options } = own
  const headers = mergeHeaders(given as RequestHeaders | undefined, ownHeaders)
  const find = findServiceEntry(service)?.methods.get('find')?.original ?? service.find
  const streaming = createStreaming(service)
  const { route, query } = others as { readonly route?: object; readonly query?: Query }
  // As strings: JSON has no bigint.
  const routeValues = Object.entries(route ?? {}).map(String)
  return {
    key: JSON.stringify([routeValues, service.getQuery(query ?? {}), headers]),
    async open(lastId, signal) {
      const asked = {
        ...headers,
        accept: EVENTS,
        // A header holds no other characters. Without it, there is a new snapshot.
        ...(/^[!-~]+$/.test(lastId) && { 'last-event-id': lastId }),
      }
      const sent = { ...options, headers: asked, retries: 0, responseType: 'stream', signal }
      const body = await find.call(streaming, { ...others, connection: sent })
      // A fetch function of Node alone has a stream of Node.
      return new Response(body as ReadableStream).body as ReadableStream<Uint8Array>
    },
    find: async () => find.call(service, { ...others, connection: { ...options, headers } }),
  }
}

/** Returns a service whose requests go by fetch: libraries for browsers have no streams. */
function createStreaming(service: RemoteService): RemoteService {
  const isFetch = service instanceof FetchClient || service instanceof OfetchClient
  const sender = isFetch ? service : Object.create(service, { connection: { value: fetch } })
  const send = isFetch ? service.sendRequest : FetchClient.prototype.sendRequest
  const sendRequest = async (request: PreparedRequest): Promise<Answer> => {
    const answer = await send.call(sender, request)
    if (!isSuccess(answer.status)) return answer
    const reason = 'it has no live queries, or a proxy changes the answer'
    return checkType(answer, EVENTS, `a stream of events: ${reason}`)
  }
  return Object.create(service, { sendRequest: { value: sendRequest } })
}
