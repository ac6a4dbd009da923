import type { Server as HttpServer, IncomingMessage } from 'node:http'
import { createServer, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Server, Socket } from 'socket.io'
import { Forbidden } from '../../core/index.ts'
import { sendErrorBody } from '../replies/body.ts'
import { limitConnection } from './connection-limits.ts'
import { isForeign } from './origin-check.ts'
import type { SocketioOptions } from './socketio-options.ts'

/** The request that has opened a connection, as Fastify knows it. */
export interface Handshake {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The last client of the connection, which may be logging in. */
  client?: HandshakeClient
}

interface HandshakeClient {
  readonly connection: object
  readonly isLoggingIn: boolean
}

const HANDSHAKE: unique symbol = Symbol('remex.handshake')
const UPGRADE: unique symbol = Symbol('remex.upgrade')

const FOREIGN = new Forbidden("Pages with cookies have to be of this origin or of 'cors.origin'")

interface Upgrade {
  readonly socket: Duplex
  readonly head: Buffer
}

type RawRequest = IncomingMessage & { [HANDSHAKE]?: Handshake; [UPGRADE]?: Upgrade }

/** Returns what Fastify knows of the request that a connection was opened by. */
export function getHandshake(raw: RawRequest): Handshake {
  const { [HANDSHAKE]: handshake } = raw
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
  options: Partial<SocketioOptions>,
  maxWaitingBytes: number,
): Promise<Server> {
  const { Server } = await loadSocketIO()
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

/** Opens a separate port for the same server. Resolves to what closes it. */
export async function listenAt(port: number, server: FastifyInstance): Promise<() => void> {
  const own = createServer(server.routing)
  routeUpgrades(server, own)
  await new Promise<void>((resolve, reject) => {
    own.once('error', reject).listen(port, resolve)
  })
  return () => own.close()
}

async function loadSocketIO(): Promise<typeof import('socket.io')> {
  try {
    return await import('socket.io')
  } catch (error) {
    throw new Error("remex/socketio needs the package 'socket.io': npm install socket.io", {
      cause: error,
    })
  }
}

/** Has the routes of Fastify answer requests for an upgrade: a route of no socket answers as usual. */
function routeUpgrades(server: FastifyInstance, http: HttpServer): void {
  http.on('upgrade', (raw: RawRequest, socket: Duplex, head: Buffer) => {
    if (raw.headers.upgrade?.toLowerCase() !== 'websocket') {
      answerAsUsual(http, raw, socket, head)
      return
    }
    socket.on('error', () => socket.destroy())
    raw[UPGRADE] = { socket, head }
    const response = new ServerResponse(raw)
    response.shouldKeepAlive = false
    response.assignSocket(socket as Parameters<typeof response.assignSocket>[0])
    response.once('finish', () => socket.end())
    server.routing(raw, response)
  })
}

/**
 * Answers a request that asks for another protocol as if it did not: Java's client asks for HTTP/2 with any first request,
 * and Node has given up the body of it by now.
 */
function answerAsUsual(http: HttpServer, raw: RawRequest, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = raw
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  http.emit('connection', socket)
}

function handOver(inner: HttpServer, request: FastifyRequest, reply: FastifyReply): void {
  const raw: RawRequest = request.raw
  raw[HANDSHAKE] = { request, reply }
  reply.hijack()
  const upgrade = raw[UPGRADE]
  if (upgrade === undefined) inner.emit('request', raw, reply.raw)
  else {
    reply.raw.detachSocket(upgrade.socket as Parameters<typeof reply.raw.detachSocket>[0])
    inner.emit('upgrade', raw, upgrade.socket, upgrade.head)
  }
}
