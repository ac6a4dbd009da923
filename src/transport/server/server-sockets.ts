import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { OptionError } from '../../core/errors/setup-errors.ts'

/** Returns the set of the open connections of a server, kept up to date. */
export function trackSockets({ server }: FastifyInstance): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  // With TLS, requests come from the sockets after the handshake.
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

/** Returns the response that a connection is sending, `null` if there is none. The property is private to Node. */
export function getAnswer(
  socket: Socket & { _httpMessage?: ServerResponse | null },
): ServerResponse | null {
  return socket._httpMessage ?? null
}

/** How many times all connections are checked within the time limit. */
const LOOKS = 4

/**
 * Cuts off clients that do not read their responses. All connections are checked at intervals: a timeout per socket
 * would have to be reset with every request.
 */
export function addWriteTimeout(
  fastify: FastifyInstance,
  sockets: ReadonlySet<Socket>,
  writeTimeoutMs: number,
): void {
  if (!Number.isFinite(writeTimeoutMs) || writeTimeoutMs < 0) {
    throw new OptionError('writeTimeoutMs must be a number of milliseconds, 0 for no limit')
  }
  if (writeTimeoutMs === 0) return
  /** The number of bytes sent while more are waiting, and when that was first seen. */
  const flushed = new WeakMap<Socket, { readonly bytes: number; readonly since: number }>()
  const look = (socket: Socket): void => {
    if (socket.writableLength === 0) flushed.delete(socket)
    else {
      const bytes = socket.bytesWritten - socket.writableLength
      const known = flushed.get(socket)
      const now = performance.now()
      if (known?.bytes !== bytes) flushed.set(socket, { bytes, since: now })
      else if (now - known.since >= writeTimeoutMs) socket.destroy()
    }
  }
  const timer = setInterval(() => sockets.forEach(look), writeTimeoutMs / LOOKS).unref()
  fastify.addHook('onClose', async () => clearInterval(timer))
}
