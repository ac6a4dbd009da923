import type { Socket } from 'socket.io'

type Connection = Socket['conn']

/** Most arguments of one message. Socket.IO spreads them over the stack: 100,000 end the process. */
const MAX_ARGUMENTS = 10_000

/** What a packet that waits takes beside its data. */
const PACKET_BYTES = 512

/**
 * Closes a connection when its client does not read what it is sent, or sends a message with too many arguments.
 * @param maxWaitingBytes how much may wait. One packet may be larger, whatever its size
 */
export function limitConnection(conn: Connection, maxWaitingBytes: number): void {
  let waiting = 0
  conn.on('packetCreate', ({ data }: Packet) => {
    if (waiting > maxWaitingBytes) cut(conn)
    else waiting += PACKET_BYTES + (data?.length ?? 0)
  })
  // The transport has taken all of it, and takes no more until that is sent.
  conn.on('flush', () => {
    waiting = 0
  })
  conn.on('packet', ({ data }: Packet) => {
    if (typeof data === 'string' && hasTooManyArguments(data)) cut(conn)
  })
}

interface Packet {
  readonly data?: string | Buffer
}

function hasTooManyArguments(data: string): boolean {
  if (data.length < 2 * MAX_ARGUMENTS) return false
  try {
    const values = JSON.parse(data.slice(data.indexOf('['))) as unknown
    return Array.isArray(values) && values.length > MAX_ARGUMENTS
  } catch {
    // No event: Socket.IO refuses it, or takes it as another message.
    return false
  }
}

/** Closes a connection at once: an orderly end would wait until its client reads. */
function cut(conn: Connection): void {
  const { socket } = conn.transport as { readonly socket?: { readonly terminate?: () => void } }
  conn.close(true)
  socket?.terminate?.()
}
