import { mkdirSync, statSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { serveConnection } from './connection.ts'
import { Dispatcher } from './dispatch.ts'

const HOST = '127.0.0.1'

/** Where the embedded server listens; without options, on a free port of 127.0.0.1. */
export interface EmbeddedMongoOptions {
  /** The port on 127.0.0.1; default 0, any free one. There is no way to listen on another host. */
  readonly port?: number
  /**
   * The path of a Unix socket instead of a port. Its folder is made with the mode 0700; one that
   * exists must be closed to other users already.
   */
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
    serveConnection(socket, dispatcher)
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

const OWNER = 'startEmbeddedMongo()'

interface OptionRule {
  /** Completes the sentence `The option must be …`. */
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
}

const OPTION_RULES: Readonly<Record<string, OptionRule>> = {
  port: {
    expected: 'a whole number from 0 to 65535',
    isValid: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65535,
  },
  path: {
    expected: 'a non-empty string',
    isValid: (value) => typeof value === 'string' && value !== '',
  },
}

function checkOptions(options: EmbeddedMongoOptions): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(OPTION_RULES, name) ? OPTION_RULES[name] : undefined
    if (rule === undefined) {
      const allowed = Object.keys(OPTION_RULES).join(', ')
      throw new TypeError(`${OWNER}: unknown option '${name}', allowed are ${allowed}`)
    }
    if (value !== undefined && !rule.isValid(value)) {
      throw new TypeError(`${OWNER}: the option '${name}' must be ${rule.expected}`)
    }
  }
  if (options.port !== undefined && options.path !== undefined) {
    throw new TypeError(`${OWNER}: the options 'port' and 'path' exclude each other`)
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

/** There is no authentication: who can reach the socket can read and write everything. */
function checkFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { mode } = statSync(folder)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new TypeError(
      `${OWNER}: the folder of the option 'path' must have the mode 0700: ${folder}`,
    )
  }
}

function toUrl(address: string, { path }: EmbeddedMongoOptions): string {
  return path === undefined
    ? `mongodb://${address}/?replicaSet=rs0`
    : `mongodb://${encodeURIComponent(path)}/?directConnection=true`
}
