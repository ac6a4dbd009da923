import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/** How long a slow body may pause, in ms. */
const MAX_SILENCE_MS = 30_000

/** The key under which a connection keeps the request whose body may take long. */
const SLOW: unique symbol = Symbol('remex.slowBody')

type SlowSocket = Socket & { [SLOW]?: IncomingMessage }

/** The key under which a request records that its body is being read. */
const READS_BODY: unique symbol = Symbol('remex.readsBody')

interface SlowRequest extends IncomingMessage {
  [READS_BODY]?: boolean
  /** Only over HTTP/2, where one connection carries many requests. */
  readonly stream?: ServerHttp2Stream
}

/** Lets a request body take longer than the server's `requestTimeout`, as long as data keeps arriving. */
export function letBodyTakeItsTime(request: SlowRequest, response: ServerResponse): void {
  const { stream } = request
  const socket: SlowSocket = request.socket
  request[READS_BODY] = true
  if (stream === undefined) socket[SLOW] = request
  const timed = stream ?? response
  const timeout = stream === undefined ? (socket.timeout ?? 0) : 0
  const endSilence = (): void => {
    // The server is the slow side: give it more time.
    if (isReceived(request)) timed.setTimeout(MAX_SILENCE_MS)
    else (stream ?? socket).destroy()
  }
  // Node also emits `timeout` when the whole body has arrived but the server has not read it.
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

/** Returns whether a call can continue only when its client sends more of the body. */
export function awaitsClient(request: SlowRequest): boolean {
  return request[READS_BODY] === true && !isReceived(request)
}

/** Returns whether unread data or the whole body has arrived: the next step is the server's. */
const isReceived = ({ complete, readableEnded, readableLength, stream }: SlowRequest): boolean =>
  // Over HTTP/2, `complete` is set only after the last part was read; `inject()` does not set it.
  complete || readableEnded || readableLength > 0 || stream?.readableEnded === true
