import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'
import {
  BodyTypeUnsupported,
  ServiceNotFound,
  StreamUnsupported,
  TypeNotAcceptable,
} from '../../core/errors/coded-errors.ts'
import type { ErrorJSON, ServiceError } from '../../core/index.ts'
import { toErrorClass } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import { toQuality } from '../replies/accept.ts'
import type { RestTransport } from '../rest-transport.ts'
import { toPath } from '../routing/request-path.ts'
import type { ScopePart } from '../scope-parts.ts'
import { runInTurn } from '../server/pipelined-requests.ts'
import { setCommonHeaders } from '../service-reply.ts'
import type { FrameWriter } from './event-connection.ts'
import { EventConnection } from './event-connection.ts'
import { toFrame } from './event-stream.ts'
import type { ResolvedRealtimeOptions } from './realtime-options.ts'
import type { SharedConnection } from './routed-response.ts'
import { RoutedRequest, RoutedResponse } from './routed-response.ts'
import type { Subscription } from './subscriptions.ts'
import { readSubscriptions } from './subscriptions.ts'

/** How many streams of a connection start opening in one turn of the event loop. */
const MAX_IN_TURN = 10

const EVENTS = 'text/event-stream'

/** Returns the part of a scope that serves a list of subscriptions over one connection. */
export function sharedStreams(options: ResolvedRealtimeOptions): ScopePart {
  return {
    addAfter: (scope, transport) => {
      scope.route({
        method: 'POST',
        url: options.path,
        handler: async (request, reply) => {
          if (request.mediaType !== 'application/json') {
            throw new BodyTypeUnsupported('The body must be application/json')
          }
          if (toQuality(request.headers.accept, EVENTS) === 0) {
            throw new TypeNotAcceptable(`The answer is ${EVENTS}, which the Accept header excludes`)
          }
          const list = readSubscriptions(request.body, options.maxSubscriptions)
          if (reply.raw.socket === null && !transport.options.ownsServer) {
            await new Promise<void>((resolve) => runInTurn(request.raw, reply.raw, resolve))
          }
          setCommonHeaders(transport, request, reply, false)
          // Dropped, as the connection may last for days.
          request.body = undefined
          await openStreams(scope, transport, reply, options, list)
        },
      })
    },
  }
}

/**
 * Opens the streams of several subscriptions on one connection, a few per turn, so that other requests and the reader get
 * their turns. When the server closes, the connection ends with the last of them.
 */
async function openStreams(
  scope: FastifyInstance,
  transport: RestTransport,
  reply: FastifyReply,
  { path, maxWaitingBytes }: ResolvedRealtimeOptions,
  list: readonly Subscription[],
): Promise<void> {
  const outer = reply.request.raw
  // A trailing slash is allowed if the router ignores it.
  const target = toPath(outer.url ?? '', transport.routing).replace(/\/$/, '')
  // The prefix of the services, as the client has sent it.
  const prefix = target.slice(0, -path.length)
  const headers = toRoutedHeaders(outer.headers)
  const rawHeaders = Object.entries(headers).flatMap(([name, value]) => [name, String(value)])
  const responses = new Set<RoutedResponse>()
  const writer: FrameWriter = { largest: 0, emptied: 0 }
  let isComplete = false
  const connection = new EventConnection(reply, maxWaitingBytes, () => {
    for (const response of responses) response.destroy()
  })
  const tell = (id: string, data: object): void => {
    connection.write(`event: ${id}/${toFrame('end', JSON.stringify(data))}`, writer)
  }
  const refuse = (id: string, error: ErrorJSON, retryAfter?: number): void => {
    tell(id, { reason: 'refused', message: error.message, error, retryAfter })
  }
  const endIfEmpty = (): void => {
    if (isComplete && responses.size === 0 && connection.isOpen) connection.end()
  }
  const shared: SharedConnection = {
    connection,
    refuse({ id, statusCode, body, retryAfter }) {
      const error = statusCode < 400 ? NO_STREAM.toJSON() : toErrorJSON(statusCode, body)
      refuse(id, error, retryAfter)
    },
    release(response) {
      responses.delete(response)
      endIfEmpty()
    },
  }
  const route = ({ id, url: ownURL, after }: Subscription): void => {
    const url = prefix + ownURL
    const match = transport.router.find(url)
    // Only services have streams: nothing else runs for a subscription.
    if (match?.id !== null) {
      refuse(id, (match === null ? NOTHING : NO_STREAM).toJSON())
      return
    }
    const own = after === undefined ? { ...headers } : { ...headers, 'last-event-id': after }
    const request = new RoutedRequest(outer, url, own, rawHeaders)
    const response = new RoutedResponse(request, id, shared)
    responses.add(response)
    scope.routing(request, response)
  }
  transport.followEndless(reply, () => {
    for (const { answer } of responses) answer?.end('closing')
  })
  for (const [index, one] of list.entries()) {
    if (index % MAX_IN_TURN === MAX_IN_TURN - 1) await nextTurn()
    if (connection.isFull) await connection.drained()
    if (!connection.isOpen) return
    if (transport.isClosing) tell(one.id, { reason: 'closing' })
    else route(one)
  }
  isComplete = true
  endIfEmpty()
}

const NOTHING: ServiceError = new ServiceNotFound('No service is at this URL')
const NO_STREAM: ServiceError = new StreamUnsupported('There is no stream at this URL')

/** Returns the error in a response; only the status if the body is not JSON. */
function toErrorJSON(status: number, body: string): ErrorJSON {
  try {
    const parsed: unknown = JSON.parse(body)
    if (isObject(parsed) && typeof parsed['message'] === 'string') return parsed as never
  } catch {
    // A custom error handler of the application may write something other than JSON.
  }
  return new (toErrorClass(status))().toJSON()
}

/** Headers that belong to the body or the connection of the outer request, or affect the form of its response. */
const OUTER_HEADERS: ReadonlySet<string> = new Set([
  ...['accept-encoding', 'connection', 'expect', 'if-match', 'if-none-match', 'if-modified-since'],
  ...['if-unmodified-since', 'keep-alive', 'last-event-id', 'range', 'te', 'trailer', 'upgrade'],
  ...['transfer-encoding', 'x-service-method', 'x-http-method-override', ':method', ':path'],
])

/** Returns the headers for the requests that are routed on behalf of another one. */
function toRoutedHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const isKept = ([name]: [string, unknown]): boolean =>
    !OUTER_HEADERS.has(name) && !name.startsWith('content-')
  return { ...Object.fromEntries(Object.entries(headers).filter(isKept)), accept: EVENTS }
}
