import { mkdirSync, statSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import type { Document } from 'bson'
import { Dispatcher } from './dispatch.ts'
import { toCommandError } from './errors/command-error.ts'
import { toErrorReply } from './errors/error-reply.ts'
import type { Request } from './protocol/message.ts'
import { encodeReply, parseMessage } from './protocol/message.ts'
import { createMessageReader } from './protocol/message-reader.ts'

const HOST = '127.0.0.1'
const MAX_WAITING = 100

/** Where the embedded server listens; without options, on a free port of 127.0.0.1. */
export interface EmbeddedMongoOptions {
  /** The port on 127.0.0.1; default 0, any free one. There is no way to listen on another host. */
  readonly port?: number
  /** The path of a Unix socket instead. Its folder is made, or must be, closed to other users. */
  readonly path?: string
}

/** A running embedded server. */
export interface EmbeddedMongo {
  /** What `new MongoClient(url)` takes. */
  readonly url: string
  /** Ends all connections and forgets all data; resolves when the port or socket is free again. */
  readonly close: () => Promise<void>
}

/**
 * Returns a server in this process that speaks MongoDB's protocol and keeps its data in memory.
 * It does not keep the process alive.
 * @throws {TypeError} an option is unknown or has a wrong value
 */
export async function startEmbeddedMongo(
  options: EmbeddedMongoOptions = {},
): Promise<EmbeddedMongo> {
  checkOptions(options)
  const server = createServer()
  const address = await listen(server, options)
  const dispatcher = new Dispatcher(address)
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serve(socket, dispatcher)
  })
  server.unref()
  return {
    url: toUrl(address, options),
    async close() {
      dispatcher.close()
      for (const socket of sockets) socket.destroy()
      if (!server.listening) return
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const OPTION_TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  port: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65535,
  path: (value) => typeof value === 'string' && value !== '',
}

function checkOptions(options: EmbeddedMongoOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTION_TYPES, name)) {
      throw new TypeError(`startEmbeddedMongo has no option '${name}', only 'port' or 'path'`)
    }
    if (value !== undefined && OPTION_TYPES[name]?.(value) !== true) {
      throw new TypeError(
        `The option '${name}' of startEmbeddedMongo is not valid: ${String(value)}`,
      )
    }
  }
  if (options.port !== undefined && options.path !== undefined) {
    throw new TypeError("startEmbeddedMongo takes 'port' or 'path', not both")
  }
}

async function listen(server: Server, { port = 0, path }: EmbeddedMongoOptions): Promise<string> {
  if (path !== undefined) checkFolder(dirname(path))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path === undefined ? { host: HOST, port } : { path }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? `${HOST}:${address.port}` : String(path)
}

/** Whoever can reach the socket can read and write everything: there is no authentication. */
function checkFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { mode } = statSync(folder)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new TypeError(`The folder of the option 'path' must have the mode 0700: ${folder}`)
  }
}

function toUrl(address: string, { path }: EmbeddedMongoOptions): string {
  return path === undefined
    ? `mongodb://${address}/?replicaSet=rs0`
    : `mongodb://${encodeURIComponent(path)}/?directConnection=true`
}

function serve(socket: Socket, dispatcher: Dispatcher): void {
  const read = createMessageReader()
  let last = Promise.resolve()
  let waiting = 0
  socket.unref()
  socket.setNoDelay(true)
  // Node closes the socket after an error; the client is gone and nobody is left to be told.
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const message of read(chunk)) {
        const request = parseMessage(message)
        waiting += 1
        // One connection's commands run one after another, as its replies must come in order.
        last = last
          .then(() => answer(socket, request, dispatcher))
          .catch(() => socket.destroy())
          .then(() => {
            waiting -= 1
            if (waiting === 0) socket.resume()
          })
      }
      // Whoever sends without reading would fill the memory with what waits for it.
      if (waiting > MAX_WAITING) socket.pause()
    } catch {
      // Not the protocol: what follows on this connection cannot be framed any more.
      socket.destroy()
    }
  })
}

async function answer(socket: Socket, request: Request, dispatcher: Dispatcher): Promise<void> {
  const reply = await dispatcher.run(request.readBody)
  if (!request.wantsReply || socket.destroyed) return
  if (socket.write(toBytes(request, reply))) return
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
