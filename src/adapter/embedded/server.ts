import cluster from 'node:cluster'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { serveConnection } from './connection.ts'
import { Dispatcher } from './dispatch.ts'

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
