import type { Socket } from 'node:net'
import { connect } from 'node:net'

/** What a server answered. */
export interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** One keep-alive connection that sends a request once the one before is answered. */
export interface Connection {
  readonly socket: Socket
  send(request: Buffer): Promise<Answer>
}

/** Connections to one server that are kept open, and send together. */
export interface Load {
  /**
   * Sends a request `count` times and returns the last answer.
   * @throws {Error} two answers have different statuses, or a connection fails
   */
  send(request: Buffer, count: number): Promise<Answer>
  close(): void
}

export interface LoadOptions {
  readonly port: number
  readonly request: Buffer
  readonly count: number
  /** How many connections share the requests. Default: 32. */
  readonly connections?: number
}

interface Waiting {
  resolve(answer: Answer): void
  reject(error: Error): void
}

const HEAD_END = '\r\n\r\n'

/** Returns the bytes of a request, as they are sent again and again. */
export function toRequest(
  method: string,
  url: string,
  body?: object,
  headers: readonly string[] = [],
): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${method} ${url} HTTP/1.1`,
    'host: 127.0.0.1',
    'accept: application/json',
    'user-agent: bench',
    ...headers,
    ...(body === undefined
      ? []
      : ['content-type: application/json', `content-length: ${Buffer.byteLength(text)}`]),
  ]
  return Buffer.from(`${head.join('\r\n')}${HEAD_END}${text}`)
}

/** Opens a connection to a server on this machine. */
export async function openConnection(port: number): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received: Buffer | null = null
  let waiting: Waiting | null = null
  const fail = (error: Error): void => {
    waiting?.reject(error)
    waiting = null
  }
  socket.on('data', (chunk) => {
    received = received === null ? chunk : Buffer.concat([received, chunk])
    const answer = toAnswer(received)
    if (answer === null) return
    received = null
    waiting?.resolve(answer)
  })
  socket.on('close', () => fail(new Error('The server closed the connection')))
  await new Promise<void>((resolve, reject) =>
    socket.once('connect', resolve).once('error', reject),
  )
  socket.on('error', fail)
  return {
    socket,
    send: (request) =>
      new Promise<Answer>((resolve, reject) => {
        if (socket.destroyed) throw new Error('The server closed the connection')
        waiting = { resolve, reject }
        socket.write(request)
      }),
  }
}

/** Opens connections to a server on this machine. Each sends its next request as soon as it has an answer. */
export async function openLoad(port: number, connections = 32): Promise<Load> {
  const opened = await Promise.all(Array.from({ length: connections }, () => openConnection(port)))
  return {
    async send(request, count) {
      const awake = stayAwake()
      let left = count
      let last: Answer | undefined
      const sendOn = async (connection: Connection): Promise<void> => {
        while (left > 0) {
          left -= 1
          const answer = await connection.send(request)
          last ??= answer
          if (answer.status !== last.status) {
            throw new Error(`A status ${answer.status} after a ${last.status}`)
          }
          last = answer
        }
      }
      try {
        await Promise.all(opened.map(sendOn))
        if (last === undefined) throw new TypeError(`No answer to ${count} requests`)
        return last
      } finally {
        awake.end()
      }
    },
    close() {
      for (const { socket } of opened) socket.destroy()
    },
  }
}

/** Opens connections, sends a request over and over, and closes them. Returns the last answer. */
export async function sendLoad(options: LoadOptions): Promise<Answer> {
  const load = await openLoad(options.port, options.connections)
  try {
    return await load.send(options.request, options.count)
  } finally {
    load.close()
  }
}

/**
 * Keeps the event loop polling. A load that sleeps between two answers has to be woken up by the
 * server's write, which costs the server a third of a request, and only where it is slow enough for
 * the load to fall asleep: a small difference between two servers would be shown as a large one.
 */
function stayAwake(): { end(): void } {
  let isAwake = true
  const poll = (): void => {
    if (isAwake) setImmediate(poll)
  }
  poll()
  return {
    end() {
      isAwake = false
    },
  }
}

/** Returns a whole answer with a `Content-Length`, `null` as long as bytes of it are missing. */
function toAnswer(bytes: Buffer): Answer | null {
  const end = bytes.indexOf(HEAD_END)
  if (end === -1) return null
  const head = bytes.toString('latin1', 0, end)
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
  const start = end + HEAD_END.length
  if (bytes.length < start + length) return null
  const status = Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length))
  return { status, body: bytes.subarray(start, start + length) }
}
