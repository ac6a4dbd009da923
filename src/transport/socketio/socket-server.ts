import type { Server as HttpServer, IncomingMessage } from 'node:http'
import { createServer, ServerResponse } from 'node:http'
import type { ListenOptions } from 'node:net'
import { promisify } from 'node:util'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Server, ServerOptions, Socket } from 'socket.io'
import { OriginNotAllowed } from '../../core/errors/coded-errors.ts'
import { askToInstall } from '../missing-package.ts'
import { hasBody } from '../parsing/request-body.ts'
import { sendErrorBody } from '../replies/body.ts'

/** The request that opened a connection, in Fastify's form. */
export interface Handshake {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The latest client of the connection, which may be logging in. */
  client?: { readonly connection: object; readonly isLoggingIn: boolean }
}

const HANDSHAKE: unique symbol = Symbol('remex.handshake')
const HEAD: unique symbol = Symbol('remex.upgradeHead')

/** `HEAD` holds the bytes that arrived after the head of an upgrade. */
type RawRequest = IncomingMessage & { [HANDSHAKE]?: Handshake; [HEAD]?: Buffer }

/** Returns the request that opened a connection, in Fastify's form. */
export function getHandshake({ [HANDSHAKE]: handshake }: RawRequest): Handshake {
  if (handshake !== undefined) return handshake
  throw new TypeError('The handshake did not pass the routes of Fastify')
}

const FOREIGN = new OriginNotAllowed(
  "Cookies were sent by a page of another origin. Add its origin to 'cors.origin' of socketio()",
)

/**
 * Returns a server of Socket.IO whose requests, including upgrades to WebSocket, are routed by Fastify. So they pass its
 * hooks and limits, are logged, and have the address of the client behind a proxy.
 * @throws {Error} the package `socket.io` is not installed
 */
export async function serveSocketIO(
  server: FastifyInstance,
  {
    maxWaitingBytes = 16 * 2 ** 20,
    ...options
  }: Partial<ServerOptions> & { readonly maxWaitingBytes?: number },
): Promise<Server> {
  const { Server } = await import('socket.io').catch(askToInstall('remex/socketio', 'socket.io'))
  // It never listens: Fastify hands over the requests for its path.
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

function handOver(inner: HttpServer, request: FastifyRequest, reply: FastifyReply): void {
  const raw: RawRequest = request.raw
  const { [HEAD]: head, socket } = raw
  raw[HANDSHAKE] = { request, reply }
  reply.hijack()
  if (head === undefined) inner.emit('request', raw, reply.raw)
  else {
    reply.raw.detachSocket(socket)
    inner.emit('upgrade', raw, socket, head)
  }
}

/**
 * Opens another port of the address at which a server listens, until it closes. This port opens first, so that `listen()`
 * rejects if it is taken.
 */
export function addPort(server: FastifyInstance, port: number): void {
  const main = server.server as HttpServer
  const second = createServer(server.routing)
  routeUpgrades(server, second)
  const listen = main.listen.bind(main) as (options: ListenOptions) => HttpServer
  // Fastify knows only afterwards where it listens.
  main.listen = ((options: ListenOptions) => {
    second.once('error', (error) => main.emit('error', error))
    second.listen({ host: options.host ?? '127.0.0.1', port }, () => listen(options))
    return main
  }) as HttpServer['listen']
  server.addHook('preClose', async () => void second.close())
}

/** Sends upgrade requests through the routes of Fastify. Routes other than that of Socket.IO respond as usual. */
function routeUpgrades(server: FastifyInstance, http: HttpServer): void {
  // Node 26 parses the body of an upgrade, so that it cannot be parsed again.
  if ('shouldUpgradeCallback' in http)
    http.shouldUpgradeCallback = (raw: RawRequest) => !hasBody(raw)
  http.on('upgrade', (raw: RawRequest, _socket: object, head: Buffer) => {
    const { socket } = raw
    if (!isWebSocketHandshake(raw)) {
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

/** Returns whether a request is a WebSocket handshake. One with a body is not: versions of Node differ in where it goes. */
function isWebSocketHandshake(raw: IncomingMessage): boolean {
  return raw.headers.upgrade?.toLowerCase() === 'websocket' && !hasBody(raw)
}

/**
 * Returns the head of a request without its `Upgrade` header, for the parser to read again: Java's client asks for HTTP/2
 * in its first request, and Node does not parse the body of an upgrade.
 */
function writeHead({ method, url, httpVersion, rawHeaders }: RawRequest): Buffer {
  const fields = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && name.toLowerCase() !== 'upgrade' ? `${name}: ${rawHeaders[at + 1]}` : [],
  )
  const lines = [`${method} ${url} HTTP/${httpVersion}`, ...fields, '', '']
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

/**
 * Resolves to whether the page that sent a request with cookies is foreign: neither of this origin nor of `cors.origin`.
 * Browsers add cookies to WebSocket handshakes from any page.
 */
async function isForeign(
  request: FastifyRequest,
  cors: ServerOptions['cors'] | undefined,
): Promise<boolean> {
  const { cookie, origin, 'sec-fetch-site': site } = request.headers
  if (cookie === undefined || origin === undefined || site === 'same-origin') return false
  if (origin === `${request.protocol}://${request.host}`.toLowerCase()) return false
  const { origin: allowed } = Object(await ask(cors, request.raw)) as { readonly origin?: unknown }
  const list = [await ask(allowed, origin)].flat()
  return !list.some((one) =>
    one instanceof RegExp ? origin.search(one) !== -1 : [true, '*', origin].includes(one as string),
  )
}

type Ask = (value: unknown, done: (error: unknown, found: unknown) => void) => void

/** Resolves to an option, or to the result of a function in its place. */
const ask = async (option: unknown, value: unknown): Promise<unknown> =>
  typeof option === 'function' ? promisify(option as Ask)(value) : option

/** The most arguments of one message. Socket.IO spreads them on the stack: 100,000 end the process. */
const MAX_ARGUMENTS = 10_000

/** The memory of a waiting packet, in addition to its data. */
const PACKET_BYTES = 512

interface Packet {
  readonly data?: string | Buffer
}

/**
 * Closes a connection if its client does not read, or sends a message with too many arguments.
 * @param maxWaitingBytes how many bytes may wait for the client. A single packet may be larger
 */
function limitConnection(conn: Socket['conn'], maxWaitingBytes: number): void {
  let waiting = 0
  conn.on('packetCreate', ({ data }: Packet) => {
    if (waiting > maxWaitingBytes) cut(conn)
    else waiting += PACKET_BYTES + (data?.length ?? 0)
  })
  // The transport has taken everything, and takes more only after that is sent.
  conn.on('flush', () => {
    waiting = 0
  })
  conn.on('packet', ({ data }: Packet) => {
    if (hasTooManyArguments(data)) cut(conn)
  })
}

function hasTooManyArguments(data: Packet['data']): boolean {
  if (typeof data !== 'string' || data.length < 2 * MAX_ARGUMENTS) return false
  try {
    return (JSON.parse(data.slice(data.indexOf('['))) as unknown[]).length > MAX_ARGUMENTS
  } catch {
    // Not an event: Socket.IO rejects it, or reads it as another kind of packet.
    return false
  }
}

/** Closes a connection without waiting until its client reads. */
function cut(conn: Socket['conn']): void {
  const { socket } = conn.transport as { readonly socket?: { readonly terminate?: () => void } }
  conn.close(true)
  socket?.terminate?.()
}
