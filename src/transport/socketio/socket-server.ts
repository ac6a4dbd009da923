import type { Server as HttpServer, IncomingMessage } from 'node:http'
import { createServer, ServerResponse } from 'node:http'
import type { ListenOptions } from 'node:net'
import { promisify } from 'node:util'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Server, Socket } from 'socket.io'
import { Forbidden } from '../../core/index.ts'
import { sendErrorBody } from '../replies/body.ts'
import type { SocketioOptions } from './socketio-options.ts'

/** The request that has opened a connection, as Fastify knows it. */
export interface Handshake {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The last client of the connection, which may be logging in. */
  client?: { readonly connection: object; readonly isLoggingIn: boolean }
}

const HANDSHAKE: unique symbol = Symbol('remex.handshake')
const HEAD: unique symbol = Symbol('remex.upgradeHead')

/** `HEAD` is what an upgrade has sent already. */
type RawRequest = IncomingMessage & { [HANDSHAKE]?: Handshake; [HEAD]?: Buffer }

const MAX_WAITING_BYTES = 16 * 2 ** 20

const FOREIGN = new Forbidden("Pages with cookies have to be of this origin or of 'cors.origin'")

/** Returns what Fastify knows of the request that a connection was opened by. */
export function getHandshake({ [HANDSHAKE]: handshake }: RawRequest): Handshake {
  if (handshake === undefined) throw new TypeError('The request has not come by Fastify')
  return handshake
}

/**
 * Makes a server of Socket.IO and serves it beside the routes of Fastify. All its requests pass the hooks of Fastify,
 * upgrades to WebSocket as well: so they are limited and logged as others are, and the address behind a proxy is known.
 * @throws {Error} the package `socket.io` is not installed
 */
export async function serveSocketIO(
  server: FastifyInstance,
  { maxWaitingBytes = MAX_WAITING_BYTES, ...options }: SocketioOptions,
): Promise<Server> {
  const { Server } = await import('socket.io').catch((cause: unknown) => {
    const message = "remex/socketio needs the package 'socket.io': npm install socket.io"
    throw new Error(message, { cause })
  })
  // It never listens: Fastify hands it what comes for its path.
  const inner = createServer()
  const io = new Server(inner, options)
  io.engine.on('connection', (conn: Socket['conn']) => limitConnection(conn, maxWaitingBytes))
  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.route({
      method: ['GET', 'POST', 'OPTIONS'],
      url: `${io.path()}/*`,
      schema: { hide: true } as object,
      handler: async (request, reply) => {
        if (await isForeign(request, options.cors)) sendErrorBody(reply.code(403), FOREIGN.toJSON())
        else handOver(inner, request, reply)
        return reply
      },
    })
  })
  routeUpgrades(server, server.server as HttpServer)
  return io
}

/**
 * Has a server listen at another port of its address as well, until it closes. That port opens first, so `listen()` rejects
 * if it is taken.
 */
export function addPort(server: FastifyInstance, port: number): void {
  const main = server.server as HttpServer
  const second = createServer(server.routing)
  routeUpgrades(server, second)
  const listen = main.listen.bind(main) as (options: ListenOptions) => HttpServer
  // Fastify does not say where it listens before it does.
  main.listen = ((options: ListenOptions) => {
    second.once('error', (error) => main.emit('error', error))
    second.listen({ host: options.host ?? '127.0.0.1', port }, () => listen(options))
    return main
  }) as HttpServer['listen']
  server.addHook('preClose', async () => void second.close())
}

/** Has the routes of Fastify answer requests for an upgrade: a route of no socket answers as usual. */
function routeUpgrades(server: FastifyInstance, http: HttpServer): void {
  http.on('upgrade', (raw: RawRequest, _socket: object, head: Buffer) => {
    const { socket } = raw
    if (raw.headers.upgrade?.toLowerCase() !== 'websocket') {
      socket.unshift(Buffer.concat([writeHead(raw), head]))
      http.emit('connection', socket)
      return
    }
    socket.on('error', () => socket.destroy())
    raw[HEAD] = head
    const response = new ServerResponse(raw)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => socket.end())
    server.routing(raw, response)
  })
}

/**
 * Returns the head of a request as if it did not ask for another protocol: Java's client asks for HTTP/2 with any first
 * request, and Node has given up the body of it by now.
 */
function writeHead({ method, url, httpVersion, rawHeaders }: RawRequest): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

function handOver(inner: HttpServer, request: FastifyRequest, reply: FastifyReply): void {
  const raw: RawRequest = request.raw
  raw[HANDSHAKE] = { request, reply }
  reply.hijack()
  const { [HEAD]: head, socket } = raw
  if (head === undefined) inner.emit('request', raw, reply.raw)
  else {
    reply.raw.detachSocket(socket)
    inner.emit('upgrade', raw, socket, head)
  }
}

/**
 * Resolves to whether a page of another site may have sent the cookies of a request: browsers add them to handshakes of
 * WebSocket from any page. Pages of the server, and of `cors.origin`, are not foreign.
 */
async function isForeign(request: FastifyRequest, cors: SocketioOptions['cors']): Promise<boolean> {
  const { cookie, origin, 'sec-fetch-site': site } = request.headers
  if (cookie === undefined || origin === undefined || site === 'same-origin') return false
  if (origin === `${request.protocol}://${request.host}`.toLowerCase()) return false
  const { origin: allowed } = Object((await ask(cors, request.raw)) ?? {}) as { origin?: unknown }
  return ![await ask(allowed, origin)].flat().some((one) => {
    if (one instanceof RegExp) return origin.search(one) !== -1
    return one === true || one === '*' || one === origin
  })
}

type Ask = (value: unknown, done: (error: unknown, found: unknown) => void) => void

/** Resolves to an option, or to what a function in its place answers. */
const ask = async (option: unknown, value: unknown): Promise<unknown> =>
  typeof option === 'function' ? promisify(option as Ask)(value) : option

/** Most arguments of one message. Socket.IO spreads them over the stack: 100,000 end the process. */
const MAX_ARGUMENTS = 10_000

/** What a packet that waits takes beside its data. */
const PACKET_BYTES = 512

/**
 * Closes a connection when its client does not read what it is sent, or sends a message with too many arguments.
 * @param maxWaitingBytes how much may wait. One packet may be larger, whatever its size
 */
function limitConnection(conn: Socket['conn'], maxWaitingBytes: number): void {
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
    if (hasTooManyArguments(data)) cut(conn)
  })
}

interface Packet {
  readonly data?: string | Buffer
}

function hasTooManyArguments(data: Packet['data']): boolean {
  if (typeof data !== 'string' || data.length < 2 * MAX_ARGUMENTS) return false
  try {
    return (JSON.parse(data.slice(data.indexOf('['))) as unknown[]).length > MAX_ARGUMENTS
  } catch {
    // No event: Socket.IO refuses it, or takes it as another message.
    return false
  }
}

/** Closes a connection at once: an orderly end would wait until its client reads. */
function cut(conn: Socket['conn']): void {
  const { socket } = conn.transport as { readonly socket?: { readonly terminate?: () => void } }
  conn.close(true)
  socket?.terminate?.()
}
