import type { FastifyInstance } from 'fastify'
import type { Server } from 'socket.io'
import type { Application, HookContext, MethodEntry } from '../../core/index.ts'
import { TooManyRequests, toServiceError } from '../../core/index.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import type { RestTransport } from '../rest-transport.ts'
import { createLookup } from '../routing/service-router.ts'
import { markEnded } from './channel.ts'
import type { Channels } from './channels.ts'
import type { Connection, ServiceSocket } from './connection.ts'
import { Client } from './connection.ts'
import type { Connections } from './logins.ts'
import { findUserChanges, followLogins, followUser } from './logins.ts'
import type { ReadMessage } from './message.ts'
import { createReader } from './message.ts'
import type { Audience } from './publishing.ts'
import { publishEvent } from './publishing.ts'
import { SharedEvents } from './shared-events.ts'
import type { Acknowledge, CallServer } from './socket-call.ts'
import { SocketCall } from './socket-call.ts'
import { getHandshake, listenAt, serveSocketIO } from './socket-server.ts'
import type { SocketCallback, SocketioOptions } from './socketio-options.ts'

const NOT_SERVED =
  'socketio(): app.configure(rest()) is missing, whose limits and logins hold for sockets as well'

/** Socket.IO adds one itself. */
const ERROR_LISTENERS = 1

/** For clients that want no acknowledgement. */
const IGNORE: Acknowledge = () => undefined

type HubOptions = Required<
  Pick<SocketioOptions, 'bus' | 'checkReads' | 'maxCalls' | 'maxWaitingBytes'>
>

/** The sockets of an application: their calls, and the events that they get. */
export class SocketHub implements CallServer, Audience, Connections {
  readonly app: Application
  readonly channels: Channels
  readonly clients: Map<object, Client> = new Map()
  /** The clients whose handshake is under way. */
  readonly #arriving = new Map<object, Client>()
  readonly checksReads: boolean
  readonly maxCalls: number
  readonly #maxWaitingBytes: number
  /** The sockets of other processes. */
  readonly #others: SharedEvents | null
  isClosing = false
  #io: Server | null = null
  #transport: RestTransport | null = null
  #read: ReadMessage | null = null
  /** Called when the server closes, and no client waits for an answer. */
  #onIdle: () => void = () => undefined

  constructor(
    app: Application,
    channels: Channels,
    { bus, checkReads, maxCalls, maxWaitingBytes }: HubOptions,
  ) {
    this.app = app
    this.channels = channels
    this.checksReads = checkReads
    this.maxCalls = maxCalls
    this.#maxWaitingBytes = maxWaitingBytes
    this.#others = bus === null ? null : new SharedEvents(this, bus)
    for (const [path, entry] of app.entries) this.#addService(path, entry)
    app.observe((change, path, entry) => {
      if (change === 'added') this.#addService(path, entry)
    })
    followLogins(app, this, (end) => this.#others?.tellEnd(end))
    app.hooks({
      setup: async ({ server }: { readonly server?: unknown }, next: () => Promise<void>) => {
        if (server !== undefined && this.#transport === null) throw new TypeError(NOT_SERVED)
        await next()
      },
    })
    // Emitted as well by those who end a connection: by the expiry of a token for example.
    app.on('disconnect', (connection: Connection) => this.#leave(connection))
    app.on('logout', (_result: unknown, { connection }: { readonly connection?: unknown }) => {
      if (typeof connection === 'object' && connection !== null) channels.leaveAll(connection)
    })
  }

  get transport(): RestTransport {
    if (this.#transport === null) throw new TypeError(NOT_SERVED)
    return this.#transport
  }

  get readMessage(): ReadMessage {
    if (this.#read === null) throw new TypeError(NOT_SERVED)
    return this.#read
  }

  /** Makes the server of Socket.IO, `app.io`. */
  async open(
    server: FastifyInstance,
    options: SocketioOptions,
    port: number | undefined,
    callback: SocketCallback,
  ): Promise<void> {
    // One application may be served below several prefixes.
    if (this.#io !== null) return
    const io = await serveSocketIO(server, options, this.#maxWaitingBytes)
    this.#io = io
    Object.defineProperty(this.app, 'io', { value: io, configurable: true })
    io.use((socket, next) => {
      this.#connect(socket).then(
        () => next(),
        (error: unknown) => next(this.#toConnectError(socket, error)),
      )
    })
    io.on('connection', (socket: ServiceSocket) => this.#admit(socket))
    callback.call(this.app, io)
    let closePort: () => void = () => undefined
    server.addHook('onReady', async () => {
      if (port !== undefined) closePort = await listenAt(port, server)
    })
    server.addHook('preClose', async () => {
      this.isClosing = true
      // Calls under way are answered first, unless their client leaves or is cut off.
      if (this.#isBusy) await new Promise<void>((resolve) => (this.#onIdle = resolve))
      closePort()
      await io.close()
    })
  }

  /** Takes the transport whose limits, errors and logins hold for the sockets as well: the first one. */
  serve(server: FastifyInstance, transport: RestTransport): void {
    if (this.#transport !== null) return
    this.#transport = transport
    const lookup = createLookup(this.app, server)
    this.#read = createReader(this.app, lookup, transport.options.json ?? {})
  }

  *all(): Iterable<Connection> {
    for (const { connection } of this.clients.values()) yield connection
    for (const { connection } of this.#arriving.values()) yield connection
  }

  end(connection: Connection): void {
    this.channels.leaveAll(connection)
    const client = this.clients.get(connection) ?? this.#arriving.get(connection)
    if (client === undefined) return
    client.isEnding = true
    this.#endIfIdle(client, connection.authentication)
  }

  send(name: string, payload: unknown, clients: readonly Client[]): void {
    const ids = clients.map(({ socket }) => socket.id)
    // Written once for all of them. Channels have the connections of this process alone.
    if (ids.length > 0) this.#io?.local.to(ids).emit(name, payload)
  }

  /** Logs a socket in. Other middleware may refuse it afterwards. */
  async #connect(socket: ServiceSocket): Promise<void> {
    const client = new Client(socket)
    const { handshake } = client
    const { client: previous } = handshake
    // Otherwise one connection could make any number of logins at the same time.
    if (previous?.isLoggingIn === true) throw new TooManyRequests('A login is under way already')
    handshake.client = client
    this.#arriving.set(client.connection, client)
    if (previous !== undefined) this.#forget(previous)
    // Of a socket that is never connected, Socket.IO tells nothing else.
    else socket.conn.once('close', () => this.#forget(handshake.client ?? client))
    client.isLoggingIn = true
    try {
      await client.logIn(this.transport)
    } catch (error) {
      this.#forget(client)
      throw error
    } finally {
      client.isLoggingIn = false
    }
  }

  /** Returns an error as Socket.IO hands it to a client that may not connect. Logs it if it is the server's fault. */
  #toConnectError(socket: ServiceSocket, thrown: unknown): Error {
    const { request, reply } = getHandshake(socket.request)
    reply.hook = null
    const data = this.transport.errors.tell(toServiceError(thrown), thrown, request, reply)
    return Object.assign(new Error(data.message), { data })
  }

  /** Forgets a client that is not connected: its login may still be under way. */
  #forget({ connection }: { readonly connection: object }): void {
    if (!this.#arriving.delete(connection)) return
    markEnded(connection)
    this.channels.leaveAll(connection)
  }

  #admit(socket: ServiceSocket): void {
    const { feathers: connection = {} } = socket
    const client = this.#arriving.get(connection)
    this.#arriving.delete(connection)
    // Its login has ended since the handshake.
    if (client === undefined || client.isEnding) {
      socket.disconnect()
      return
    }
    this.clients.set(connection, client)
    socket.once('disconnect', () => {
      for (const tell of client.onGone) tell()
      // Emitted already where the server has ended the connection.
      if (this.clients.has(connection)) this.app.emit('disconnect', connection)
    })
    socket.onAny((name: string, ...values: unknown[]) => this.#take(client, name, values))
    this.app.emit('connection', connection)
  }

  /** Ends a client once its calls are answered, unless it has logged out, or in anew, meanwhile. */
  #endIfIdle(client: Client, authentication: Connection['authentication']): void {
    const { connection } = client
    // One that is still to come is not admitted then.
    if (!this.clients.has(connection)) return
    if (client.unanswered > 0) {
      client.onIdle = () => this.#endIfIdle(client, authentication)
      return
    }
    client.isEnding = false
    client.onIdle = () => undefined
    if (connection.authentication === authentication) this.app.emit('disconnect', connection)
  }

  /** Takes a message, unless the application itself listens to this event. */
  #take(client: Client, name: string, values: unknown[]): void {
    const last = values.at(-1)
    const acknowledge = typeof last === 'function' ? (values.pop() as Acknowledge) : IGNORE
    if (client.socket.listenerCount(name) > (name === 'error' ? ERROR_LISTENERS : 0)) return
    client.unanswered += 1
    // A method may go on after its time limit, which nothing waits for.
    const answer: Acknowledge = (error, result) => {
      // As in Feathers, an error stands alone.
      if (error === null) acknowledge(null, result)
      else acknowledge(error)
      client.unanswered -= 1
      if (client.unanswered === 0) client.onIdle()
      this.#tellIfIdle()
    }
    void new SocketCall(this, client, answer).run(name, values)
  }

  #leave(connection: Connection): void {
    this.channels.leaveAll(connection)
    const client = this.clients.get(connection)
    if (client === undefined) return
    markEnded(connection)
    this.clients.delete(connection)
    client.socket.disconnect()
    this.#tellIfIdle()
  }

  /** Whether a client waits for an answer. */
  get #isBusy(): boolean {
    return [...this.clients.values()].some(({ unanswered }) => unanswered > 0)
  }

  #tellIfIdle(): void {
    if (this.isClosing && !this.#isBusy) this.#onIdle()
  }

  #addService(path: string, entry: MethodEntry['entry']): void {
    this.channels.addService(entry)
    const { service, options } = entry
    if (this.checksReads && isFollowable(service)) service.isFollowed = true
    const emitter = service as { on(event: string, listener: EventListener): unknown }
    for (const event of options.serviceEvents) {
      emitter.on(event, (data, context) => {
        const told = { entry, path, event, data, context }
        void publishEvent(this, told)
        const changes = findUserChanges(this.app, told)
        for (const change of changes) void followUser(this.app, change, this)
        this.#others?.tell(told, changes)
      })
    }
  }
}

type EventListener = (data: unknown, context?: HookContext) => void
