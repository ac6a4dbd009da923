import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How long a slow body may pause, in ms. */
const MAX_SILENCE_MS = 30_000

/** The key under which a connection keeps the request whose body may take long. */
const SLOW: unique symbol = Symbol('remex.slowBody')

interface SlowBody {
  readonly request: IncomingMessage
  /** What the connection had received at the last look. */
  bytesRead: number
  /** Whether there was more to come at the last look. */
  isArriving: boolean
}

type SlowSocket = Socket & { [SLOW]?: SlowBody }

/**
 * Lets the body of a request take longer than `requestTimeout` of its server and `handlerTimeoutMs`, as long as
 * something of it arrives.
 */
export function letBodyTakeItsTime(request: IncomingMessage, response: ServerResponse): void {
  const socket = request.socket as SlowSocket
  const { timeout = 0 } = socket
  socket[SLOW] = { request, bytesRead: 0, isArriving: true }
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
  return socket[SLOW]?.request.complete === false
}

/**
 * Whether a request needs more time for its body: since the last look, something of it has arrived, or was waited for.
 */
export function needsTime(request: IncomingMessage): boolean {
  const socket = request.socket as SlowSocket
  const slow = socket[SLOW]
  if (slow?.request !== request || !slow.isArriving) return false
  const { bytesRead } = socket
  const isProgress = request.complete || bytesRead > slow.bytesRead || request.readableLength === 0
  slow.bytesRead = bytesRead
  slow.isArriving = !request.complete
  return isProgress
}
