import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Returns the set of the open connections of a server, kept up to date. */
export function trackSockets({ server }: FastifyInstance): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  // With TLS the sockets that requests come from are those after the handshake.
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

/**
 * Returns the answer that a connection of HTTP/1 is busy with, `null` when it is idle. Node has no
 * public name for it.
 */
export function getAnswer(
  socket: Socket & { _httpMessage?: ServerResponse | null },
): ServerResponse | null {
  return socket._httpMessage ?? null
}
