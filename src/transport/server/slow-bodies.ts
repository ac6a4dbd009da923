import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** How long nothing of a slow body may arrive, in ms. */
const MAX_SILENCE_MS = 30_000

/** The key under which a connection keeps the request whose body may take long. */
const SLOW: unique symbol = Symbol('remex.slowBody')

type SlowSocket = Socket & { [SLOW]?: IncomingMessage }

/** Lets the body of a request take longer than `requestTimeout` of its server, as long as something of it arrives. */
export function letBodyTakeItsTime(request: IncomingMessage): void {
  const { socket }: { readonly socket: SlowSocket } = request
  socket[SLOW] = request
  request.setTimeout(MAX_SILENCE_MS, () => socket.destroy())
  // The response may take its time as well.
  request.once('end', () => socket.setTimeout(0))
}

/** Whether the request that a connection is receiving may take long. */
export function isSlowBody(socket: SlowSocket): boolean {
  return socket[SLOW]?.complete === false
}
