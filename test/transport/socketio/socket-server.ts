import type { AddressInfo } from 'node:net'
import type { ManagerOptions, Socket, SocketOptions } from 'socket.io-client'
import { io } from 'socket.io-client'
import type { FastifyApplication, RestOptions } from '../../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import type { SocketCallback, SocketioOptions } from '../../../src/transport/socketio/index.ts'
import { socketio } from '../../../src/transport/socketio/index.ts'

/** A client of the server, with the calls of Feathers. */
export interface SocketClient {
  readonly socket: Socket
  /** Sends a message. Resolves to the result; rejects with the error as it was sent. */
  call(method: string, ...values: unknown[]): Promise<unknown>
  /** The payloads of an event so far. */
  collect(event: string): unknown[]
}

export interface SocketServer {
  readonly app: FastifyApplication
  readonly url: string
  /** Resolves to a client that is connected; rejects with the error of the handshake. */
  connect(options?: Partial<ManagerOptions & SocketOptions>): Promise<SocketClient>
}

export interface SocketServerOptions {
  readonly options?: SocketioOptions
  readonly callback?: SocketCallback
  readonly rest?: RestOptions
}

/** Starts an application with services over Socket.IO. Its clients and its server are closed after the test. */
export async function startSocketServer(
  t: { teardown(end: () => unknown): unknown },
  configure: (app: FastifyApplication) => void,
  { options = {}, callback, rest: restOptions }: SocketServerOptions = {},
): Promise<SocketServer> {
  const app = fastifyApp(createApp())
  app.logger = { error: () => undefined, warn: () => undefined, info: () => undefined } as never
  app.configure(rest(restOptions))
  app.configure(socketio(options, callback))
  configure(app)
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sockets: Socket[] = []
  t.teardown(async () => {
    for (const socket of sockets) socket.close()
    await app.close()
  })
  const connect: SocketServer['connect'] = async (own = {}) => {
    const socket = io(url, {
      transports: ['websocket'],
      forceNew: true,
      reconnection: false,
      ...own,
    })
    sockets.push(socket)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('connect_error', reject)
    })
    return toClient(socket)
  }
  return { app, url, connect }
}

function toClient(socket: Socket): SocketClient {
  return {
    socket,
    call: (method, ...values) =>
      new Promise((resolve, reject) => {
        socket.emit(method, ...values, (error: unknown, result: unknown) => {
          if (error) reject(error)
          else resolve(result)
        })
      }),
    collect(event) {
      const payloads: unknown[] = []
      socket.on(event, (payload) => payloads.push(payload))
      return payloads
    },
  }
}
