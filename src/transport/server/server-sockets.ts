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

/** How often all connections are looked at within the time limit. */
const LOOKS = 4

const FLUSHED = Symbol('remex.flushed')

interface WatchedSocket extends Socket {
  /** How many bytes had gone out, and when that was first seen. */
  [FLUSHED]?: { readonly bytes: number; readonly since: number }
}

/**
 * Cuts off clients that do not read what they asked for. All connections are looked at from time to
 * time: a timeout of each socket would have to be set anew with every request.
 */
export function addWriteTimeout(fastify: FastifyInstance, writeTimeoutMs: number): void {
  if (!Number.isFinite(writeTimeoutMs) || writeTimeoutMs < 0) {
    throw new TypeError('writeTimeoutMs must be a number of milliseconds, 0 for no limit')
  }
  if (writeTimeoutMs === 0) return
  const sockets: ReadonlySet<WatchedSocket> = trackSockets(fastify)
  const timer = setInterval(() => {
    for (const socket of sockets) if (isStalled(socket, writeTimeoutMs)) socket.destroy()
  }, writeTimeoutMs / LOOKS).unref()
  fastify.addHook('onClose', async () => clearInterval(timer))
}

/** Whether something waits to be sent, and nothing has gone out for longer than the limit. */
function isStalled(socket: WatchedSocket, limitMs: number): boolean {
  if (socket.writableLength === 0) {
    delete socket[FLUSHED]
    return false
  }
  const bytes = socket.bytesWritten - socket.writableLength
  const known = socket[FLUSHED]
  const now = performance.now()
  if (known?.bytes === bytes) return now - known.since >= limitMs
  socket[FLUSHED] = { bytes, since: now }
  return false
}
