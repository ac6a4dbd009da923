import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How long a slow body may pause, in ms. */
const MAX_SILENCE_MS = 30_000

/** The key under which a connection keeps the request whose body may take long. */
const SLOW: unique symbol = Symbol('remex.slowBody')

/** The key under which a request keeps that something of its body was taken since the last look. */
const PROGRESS: unique symbol = Symbol('remex.progress')

type SlowSocket = Socket & { [SLOW]?: IncomingMessage }
type SlowRequest = IncomingMessage & { [PROGRESS]?: boolean }

/** Lets the body of a request take longer than `requestTimeout` of its server, as long as something of it arrives. */
export function letBodyTakeItsTime(request: IncomingMessage, response: ServerResponse): void {
  const socket = request.socket as SlowSocket
  const { timeout = 0 } = socket
  socket[SLOW] = request
  const endSilence = (): void => {
    // The client waits for us.
    if (request.complete || request.readableLength > 0) response.setTimeout(MAX_SILENCE_MS)
    else socket.destroy()
  }
  // Node asks the response also when the whole body has arrived, and the server has not read it.
  response.setTimeout(MAX_SILENCE_MS, endSilence)
  request.once('end', () => {
    response.off('timeout', endSilence)
    if (!response.writableFinished) response.setTimeout(timeout)
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
  request[PROGRESS] = true
}

/** Whether a call needs more time: since the last look it made progress, or it waits for its client. */
export function needsTime(request: SlowRequest): boolean {
  const isProgress = request[PROGRESS] === true
  request[PROGRESS] = false
  const isReceived = request.complete || request.readableLength > 0
  return isProgress || (!isReceived && (request.socket as SlowSocket)[SLOW] === request)
}
