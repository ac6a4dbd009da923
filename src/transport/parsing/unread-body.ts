import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { mayHaveBody } from './request-body.ts'

/** How many bytes of a body are read after its response, to be dropped. */
const MAX_UNREAD_BYTES = 16_777_216

/** How long a body may take after its response. On a server of `fastifyApp()`, `requestTimeout` holds as well. */
const MAX_UNREAD_MS = 30_000

/** The key under which a connection keeps the request whose response was sent before its body had arrived. */
const UNREAD: unique symbol = Symbol('remex.unread')

type UnreadSocket = Socket & { [UNREAD]?: IncomingMessage }

/**
 * Lets the client finish writing a body whose response is sent before the body was read. A client that writes
 * to a closed connection gets an error in place of the response. The connection is cut off after
 * {@link MAX_UNREAD_BYTES} or {@link MAX_UNREAD_MS}. It does nothing over HTTP/2, where a response ends no
 * connection.
 * @see RFC 9112 §9.6
 */
export function finishUnread(
  { raw: request, server: { server } }: FastifyRequest,
  response: ServerResponse,
): void {
  if (request.httpVersionMajor > 1) return
  // Before the listener of Node, which may close the connection. The event comes once: `once` would cost more.
  response.prependListener('finish', () => {
    if (request.complete !== false) return
    const socket: UnreadSocket = request.socket
    socket[UNREAD] = request
    // An unwanted file in a form would block the body, as nothing reads it after an error.
    if (response.statusCode >= 400) request.unpipe()
    if (!isRead(request)) readToEnd(request, socket, server)
  })
}

/**
 * Lets clients finish writing the bodies that the routes of a scope reject. A server of `fastifyApp()` does so
 * for all of its routes.
 */
export function finishUnreadBodies(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    if (!mayHaveBody(route)) return
    route.onRequest = [finishBody, ...[route.onRequest ?? []].flat()]
  })
}

const finishBody: onRequestHookHandler = (request, reply, done) => {
  // Node parses a request behind the last response together with the end of the body. It must not be run.
  // See RFC 9112 §9.6
  if (request.raw.socket.writableEnded) return
  finishUnread(request, reply.raw)
  done()
}

/** Whether something still reads the body: a stream that decompresses it, or writes it to a file. */
function isRead(request: IncomingMessage): boolean {
  return request.listenerCount('data') + request.listenerCount('readable') > 0
}

/** Whether the rest of a body will be read after the response, so that the connection can stay open. */
export function isReadToEnd(request: IncomingMessage): boolean {
  const length = Number(request.headers['content-length'])
  return request.complete === false && !isRead(request) && length <= MAX_UNREAD_BYTES
}

/** Whether a connection has sent the response to a request whose body is still to come. */
export function isUnread(socket: UnreadSocket): boolean {
  return socket[UNREAD]?.complete === false
}

function readToEnd(
  request: IncomingMessage,
  socket: UnreadSocket,
  server: { readonly listening: boolean },
): void {
  let bytes = 0
  let isLast = false
  const timer = setTimeout(() => socket.destroy(), MAX_UNREAD_MS)
  // Node calls this after a last response. Closing with unread bytes would reset the connection, and the client would
  // lose the unread part of the response.
  socket.destroySoon = () => {
    isLast = true
    socket.end()
  }
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_UNREAD_BYTES) socket.destroy()
  })
  request.resume()
  // Node drops bodies that nothing has started to read, whatever their size.
  request.read(0)
  const stop = (): void => {
    clearTimeout(timer)
    request.off('close', stop)
    socket.off('close', stop)
    // Node may parse the next request before this event, and that one may be rejected as well.
    if (socket[UNREAD] === request) {
      delete socket[UNREAD]
      Reflect.deleteProperty(socket, 'destroySoon')
    }
    // If the server has started to close in the meantime, it waits for this connection without ending it.
    if (isLast || !server.listening) socket.destroySoon()
  }
  // Node closes a request with its connection only until its response is sent.
  request.once('close', stop)
  socket.once('close', stop)
}
