import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/** How long a slow body may pause, in ms. */
const MAX_SILENCE_MS = 30_000

/** The key under which a connection keeps the request whose body may take long. */
const SLOW: unique symbol = Symbol('remex.slowBody')

type SlowSocket = Socket & { [SLOW]?: IncomingMessage }

/** The key under which a request keeps that it waits for its body. */
const WAITS: unique symbol = Symbol('remex.waitsForBody')

/** The key under which a request keeps that its call has read something since the last look. */
const HAS_READ: unique symbol = Symbol('remex.hasRead')

interface SlowRequest extends IncomingMessage {
  [WAITS]?: boolean
  [HAS_READ]?: boolean
  /** With HTTP/2: the connection has many of them. */
  readonly stream?: ServerHttp2Stream
}

/** Lets the body of a request take longer than `requestTimeout` of its server, as long as something of it arrives. */
export function letBodyTakeItsTime(request: SlowRequest, response: ServerResponse): void {
  const { stream } = request
  const socket: SlowSocket = request.socket
  request[WAITS] = true
  if (stream === undefined) socket[SLOW] = request
  const timed = stream ?? response
  const timeout = stream === undefined ? (socket.timeout ?? 0) : 0
  const endSilence = (): void => {
    // The client waits for us.
    if (isReceived(request)) timed.setTimeout(MAX_SILENCE_MS)
    else (stream ?? socket).destroy()
  }
  // Node asks also when the whole body has arrived, and the server has not read it.
  timed.on('timeout', endSilence)
  timed.setTimeout(MAX_SILENCE_MS)
  request.once('end', () => {
    timed.off('timeout', endSilence)
    if (stream !== undefined || !response.writableFinished) timed.setTimeout(timeout)
    // After the response, Node has set the time limit of an idle connection; 20.19 and 22.12 have not.
    else if (!socket.timeout) {
      const { server } = socket as unknown as { readonly server: Server }
      socket.setTimeout(server.keepAliveTimeout)
    }
  })
}

/** Whether the request that a connection is receiving may take long. */
export function isSlowBody(socket: SlowSocket): boolean {
  return socket[SLOW]?.complete === false
}

/** Notes that a call makes progress: the time limit `handlerTimeoutMs` begins again. */
export function noteProgress(request: SlowRequest): void {
  request[HAS_READ] = true
}

/** Whether a call needs more time: since the last look it made progress, or it waits for its client. */
export function needsTime(request: SlowRequest): boolean {
  const hasRead = request[HAS_READ] === true
  request[HAS_READ] = false
  return hasRead || (request[WAITS] === true && !isReceived(request))
}

/** Whether the next step is ours: a part of the body, or all of it, has arrived. */
const isReceived = ({ complete, readableLength }: IncomingMessage): boolean =>
  complete || readableLength > 0
