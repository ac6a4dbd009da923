import cluster from 'node:cluster'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Document } from 'bson'
import { Dispatcher } from './dispatch.ts'
import { toCommandError, toErrorReply } from './errors.ts'
import type { Request } from './protocol/message.ts'
import { createMessageReader, encodeReply, parseMessage } from './protocol/message.ts'

const HOST = '127.0.0.1'

/** Where the embedded server listens; without options, on a free port of 127.0.0.1. */
export interface EmbeddedMongoOptions {
  /** The port on 127.0.0.1; default 0, any free one. There is no way to listen on another host. */
  readonly port?: number
}

/** A running embedded server. */
export interface EmbeddedMongo {
  /** What `new MongoClient(url)` takes. */
  readonly url: string
  /** Ends all connections and forgets all data; resolves when the port is free again. */
  readonly close: () => Promise<void>
}

/**
 * Returns a server in this process that speaks MongoDB's protocol and keeps its data in memory.
 * It does not keep the process alive.
 * @throws {TypeError} an option is unknown or has a wrong value, or this process is a worker of
 *   `node:cluster`
 */
export async function startEmbeddedMongo(
  options: EmbeddedMongoOptions = {},
): Promise<EmbeddedMongo> {
  checkOptions(options)
  checkProcess()
  const server = createServer()
  const address = await listen(server, options.port ?? 0)
  const dispatcher = new Dispatcher(address)
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serveConnection(socket, dispatcher)
  })
  server.unref()
  return {
    url: `mongodb://${address}/?replicaSet=rs0`,
    async close() {
      dispatcher.close()
      for (const socket of sockets) socket.destroy()
      if (!server.listening) return
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const OWNER = 'startEmbeddedMongo()'

function checkOptions(options: EmbeddedMongoOptions): void {
  const unknown = Object.keys(options).find((name) => name !== 'port')
  if (unknown !== undefined) {
    throw new TypeError(`${OWNER}: unknown option '${unknown}', allowed is port`)
  }
  const { port = 0 } = options
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TypeError(`${OWNER}: the option 'port' must be a whole number from 0 to 65535`)
  }
}

/** Workers share what they listen on: a client would reach the database of any of them. */
function checkProcess(): void {
  if (!cluster.isWorker) return
  throw new TypeError(
    `${OWNER}: not in a worker of node:cluster, where each would have a database of its own: ` +
      "start it once, in the primary, and give the 'url' to the workers",
  )
}

async function listen(server: Server, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: HOST, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return `${HOST}:${(server.address() as AddressInfo).port}`
}

/** How many commands of one connection may wait before the server stops reading from it. */
const MAX_WAITING = 100

/** Answers the commands that a client sends over a socket, one after another. */
export function serveConnection(socket: Socket, dispatcher: Dispatcher): void {
  const read = createMessageReader()
  let last = Promise.resolve()
  let waiting = 0
  socket.unref()
  socket.setNoDelay(true)
  // Without a listener a broken connection would end the process.
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const message of read(chunk)) {
        const request = parseMessage(message)
        waiting += 1
        // The protocol wants the replies of a connection in the order of its commands.
        last = last
          .then(() => answer(socket, request, dispatcher))
          .catch(() => socket.destroy())
          .then(() => {
            waiting -= 1
            if (waiting === 0) socket.resume()
          })
      }
      // A client that sends without reading its replies would fill the memory.
      if (waiting > MAX_WAITING) socket.pause()
    } catch {
      // After bytes that are no message, nobody knows where the next message begins.
      socket.destroy()
    }
  })
}

async function answer(socket: Socket, request: Request, dispatcher: Dispatcher): Promise<void> {
  const reply = await dispatcher.run(request.readBody)
  if (!request.wantsReply || socket.destroyed) return
  if (socket.write(toBytes(request, reply))) return
  // The socket's buffer is full: the next command waits until the client has read.
  await new Promise<void>((resolve) => {
    const goOn = (): void => {
      socket.off('drain', goOn)
      socket.off('close', goOn)
      resolve()
    }
    socket.on('drain', goOn)
    socket.on('close', goOn)
  })
}

function toBytes(request: Request, reply: Document): Buffer {
  try {
    return encodeReply(request, reply)
  } catch (error) {
    return encodeReply(request, toErrorReply(toCommandError(error), false))
  }
}
