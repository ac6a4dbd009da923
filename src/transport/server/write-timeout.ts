import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { trackSockets } from './server-sockets.ts'

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
