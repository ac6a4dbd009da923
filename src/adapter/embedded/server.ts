import cluster from 'node:cluster'
import { mkdirSync, realpathSync, statSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { serveConnection } from './connection.ts'
import { Dispatcher } from './dispatch.ts'

const HOST = '127.0.0.1'

/** Where the embedded server listens; without options, on a free port of 127.0.0.1. */
export interface EmbeddedMongoOptions {
  /** The port on 127.0.0.1; default 0, any free one. There is no way to listen on another host. */
  readonly port?: number
  /**
   * The path of a Unix socket instead of a port. Its folder is made with the mode 0700; one that
   * exists must belong to the user of this process, be closed to others, and stand where no other
   * user can replace it. It may have as many bytes as the system takes: 107 on Linux, 103 on others.
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
 * @throws {TypeError} an option is unknown or has a wrong value, other users can get at the folder of
 *   `path`, or this process is a worker of `node:cluster`
 */
export async function startEmbeddedMongo(
  options: EmbeddedMongoOptions = {},
): Promise<EmbeddedMongo> {
  checkOptions(options)
  checkProcess()
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
    expected: 'a non-empty string without a zero byte',
    isValid: (value) => typeof value === 'string' && value !== '' && !value.includes('\0'),
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

/** Workers share what they listen on: a client would reach the database of any of them. */
function checkProcess(): void {
  if (!cluster.isWorker) return
  throw new TypeError(
    `${OWNER}: not in a worker of node:cluster, where each would have a database of its own: ` +
      "start it once, in the primary, and give the 'url' to the workers",
  )
}

async function listen(server: Server, { port = 0, path }: EmbeddedMongoOptions): Promise<string> {
  const socket = path === undefined ? undefined : toSocket(path)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket === undefined ? { host: HOST, port } : { path: socket }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address()
  return typeof address === 'object' ? `${HOST}:${address?.port}` : address
}

/** How many bytes of a path the system takes. Node cuts the rest off: a socket in another folder. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103

function toSocket(path: string): string {
  const socket = join(openFolder(dirname(path)), basename(path))
  if (process.platform === 'win32' || Buffer.byteLength(socket) <= MAX_PATH_BYTES) return socket
  throw new TypeError(
    `${OWNER}: the option 'path' must have at most ${MAX_PATH_BYTES} bytes: ${socket}`,
  )
}

/**
 * Returns a folder without symbolic links on the way, made where it is missing. There is no
 * authentication: who can reach the socket, or put another one in its place, has all data.
 */
function openFolder(given: string): string {
  mkdirSync(given, { recursive: true, mode: 0o700 })
  const user = process.geteuid?.()
  // On Windows a file has neither such an owner nor such a mode.
  if (user === undefined) return given
  const folder = realpathSync(given)
  const { uid, mode } = statSync(folder)
  if (uid !== user) throw folderError('must belong to the user of this process', folder)
  if ((mode & 0o077) !== 0) throw folderError('must have the mode 0700', folder)
  const owners = new Set([user, statSync('/').uid])
  for (let above = dirname(folder); above !== dirname(above); above = dirname(above)) {
    const { uid, gid, mode } = statSync(above)
    // Many users have a group of their own, which may write to all that they make.
    const others = gid === process.getegid?.() ? 0o002 : 0o022
    // Where the sticky bit is set, as in /tmp, nobody can rename what belongs to somebody else.
    const isOpen = (mode & 0o1000) === 0 && (mode & others) !== 0
    if (isOpen || !owners.has(uid)) {
      throw folderError('must not be in one that another user can change', above)
    }
  }
  return folder
}

function folderError(rule: string, folder: string): TypeError {
  return new TypeError(`${OWNER}: the folder of the option 'path' ${rule}: ${folder}`)
}

function toUrl(address: string, { path }: EmbeddedMongoOptions): string {
  return path === undefined
    ? `mongodb://${address}/?replicaSet=rs0`
    : `mongodb://${encodeURIComponent(address)}/?directConnection=true`
}
