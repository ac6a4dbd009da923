import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** How long nothing of a slow body may arrive, in ms. */
const MAX_SILENCE_MS = 30_000

/** The key under which a connection keeps the request whose body may take long. */
const SLOW: unique symbol = Symbol('remex.slowBody')

type SlowSocket = Socket & { [SLOW]?: IncomingMessage }

/** Lets the body of a request take longer than `requestTimeout` of its server, as long as something of it arrives. */
export function letBodyTakeItsTime(request: IncomingMessage): void {
  const socket: SlowSocket = request.socket
  socket[SLOW] = request
  socket.setTimeout(MAX_SILENCE_MS, () => {
    if (!request.complete) socket.destroy()
  })
}

/** Whether the request that a connection is receiving may take long. */
export function isSlowBody(socket: SlowSocket): boolean {
  return socket[SLOW]?.complete === false
}
