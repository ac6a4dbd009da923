import type { FastifyInstance } from 'fastify'
import { authenticationServices } from '../../auth/default-authentication.ts'
import { onLoginEnd } from '../../auth/login-end.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { Application, HookContext, MethodEntry, Params } from '../../core/index.ts'
import { TooManyRequests, toServiceError } from '../../core/index.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import type { RestTransport } from '../rest-transport.ts'
import { createLookup } from '../routing/service-router.ts'
import { Channels, hasEnded } from './channels.ts'
import type { Connection, ServiceSocket } from './connection.ts'
import { Client } from './connection.ts'
import { Logins } from './logins.ts'
import type { ReadMessage } from './message.ts'
import { createReader } from './message.ts'
import type { Audience } from './publishing.ts'
import { publishEvent } from './publishing.ts'
import { SharedEvents } from './shared-events.ts'
import type { Acknowledge, CallServer } from './socket-call.ts'
import { SocketCall } from './socket-call.ts'
import { addPort, serveSocketIO } from './socket-server.ts'
import type { Given, SocketioOptions } from './socketio-options.ts'

const NOT_SERVED =
  'socketio() needs the limits and logins of REST: add app.configure(rest()), before or after it'

/** Socket.IO adds one itself. */
const ERROR_LISTENERS = 1

/** The sockets of an application: their calls and events. */
export class SocketHub implements CallServer, Audience {
  readonly app: Application
  readonly channels: Channels
  /** The clients by their connections, including those that are still logging in by the handshake. */
  readonly clients: Map<object, Client> = new Map()
  readonly logins: Logins
  readonly checksReads: boolean
  readonly maxCalls: number
  /** Its limits, errors and logins apply to sockets too. */
  declare transport: RestTransport
  declare readMessage: ReadMessage
  /** The sockets of other processes. */
  readonly #others: SharedEvents | null
  isClosing = false
  /** Called when the server is closing and all calls are answered. */
  #onIdle: () => void = () => undefined

  constructor(
    app: Application,
    { bus = null, checkReads = false, maxCalls = 100 }: SocketioOptions,
  ) {
    this.app = app
    this.channels = new Channels(app)
    this.logins = new Logins(app, this.clients, (client) => this.#end(client))
    this.checksReads = checkReads
    this.maxCalls = maxCalls
    this.#others = bus === null ? null : new SharedEvents(this, bus)
    for (const [path, entry] of app.entries) this.#addService(path, entry)
    app.observe((change, path, entry) => {
      if (change === 'added') this.#addService(path, entry)
    })
    onLoginEnd(app, (end) => {
      this.logins.end(end)
      this.#others?.shareEnd(end)
    })
    // Also emitted to end a connection, for example when a token expires.
    app.on('disconnect', (connection: Connection) => {
      if (this.clients.has(connection)) this.#leave(connection)
      else this.channels.leaveAll(connection)
    })
    app.on('login', (_result: unknown, { connection }: Params, { service }: HookContext) => {
      const client = this.clients.get(connection ?? {})
      if (client !== undefined) return this.logins.checkLogin(service as never, client)
      return connection && hasEnded(connection) ? this.#forgetLogin(connection) : undefined
    })
    app.on('logout', (_result: unknown, { connection }: { readonly connection?: object }) => {
      if (connection) this.channels.leaveAll(connection)
    })
    app.hooks({
      setup: async ({ server }: { readonly server?: unknown }, next: () => Promise<void>) => {
        // Without a server, the services are set up to be called within the process.
        if (server !== undefined && this.transport === undefined) throw new TypeError(NOT_SERVED)
        await next()
      },
    })
  }

  /** Opens the server of Socket.IO, `app.io`. */
  async open(server: FastifyInstance, { port, options, callback }: Given): Promise<void> {
    const { app } = this
    // An application may be served below several prefixes.
    if (Object.hasOwn(app, 'io')) return
    const io = await serveSocketIO(server, options)
    Object.defineProperty(app, 'io', { value: io, configurable: true })
    io.use((socket, next) => {
      const fail = (error: unknown): void => {
        next(new Error('Internal error'))
        logListenerError(app, error, 'connection')
      }
      // Middleware that follows may throw too, and even the logger: neither must end the process.
      void this.#connect(socket)
        .then(next)
        .catch(fail)
        .catch(() => undefined)
    })
    io.on('connection', (socket: ServiceSocket) => this.#admit(socket))
    callback.call(app, io)
    server.addHook('preClose', async () => {
      this.isClosing = true
      // Running calls are answered first, unless their client leaves or is cut off.
      if (this.#isBusy) await new Promise<void>((resolve) => (this.#onIdle = resolve))
      await io.close()
    })
    if (port !== undefined) addPort(server, port)
  }

  /** Sets the transport of calls, if there is none yet. */
  serve(server: FastifyInstance, transport: RestTransport): void {
    if (this.transport !== undefined) return
    this.transport = transport
    const { json = {} } = transport.options
    this.readMessage = createReader(this.app, createLookup(this.app, server), json)
  }

  send(name: string, payload: unknown, clients: readonly Client[]): void {
    const ids = clients.map(({ socket }) => socket.id)
    // Encodes the event once for all clients. Channels have only connections of this process.
    if (ids.length > 0) this.app.io.local.to(ids).emit(name, payload)
  }

  /** Logs a socket in. Resolves to the error that rejects it. Middleware that follows may still reject it. */
  async #connect(socket: ServiceSocket): Promise<Error | undefined> {
    const client = new Client(socket, this.logins.changes)
    const { connection, handshake } = client
    const { client: previous, request, reply } = handshake
    try {
      // Otherwise one WebSocket could run any number of logins at the same time.
      if (previous?.isLoggingIn)
        throw new TooManyRequests('This connection is logging in already. Wait for the answer')
      handshake.client = client
      this.clients.set(connection, client)
      if (previous !== undefined) this.#leave(previous.connection)
      // Socket.IO emits no `disconnect` for a socket that was never connected.
      else socket.conn.once('close', () => this.#leave(handshake.client?.connection))
      await client.logIn(this.transport)
      return undefined
    } catch (thrown) {
      this.#leave(connection)
      reply.hook = null
      const data = this.transport.errors.tell(toServiceError(thrown), thrown, request, reply)
      return Object.assign(new Error(data.message), { data })
    } finally {
      client.isLoggingIn = false
    }
  }

  #admit(socket: ServiceSocket): void {
    const { feathers: connection = {} } = socket
    const client = this.clients.get(connection)
    // Its login may have ended since the handshake.
    if (client === undefined) return void socket.disconnect()
    client.isAdmitted = true
    socket.once('disconnect', () => {
      // If the server ended the connection, `disconnect` was emitted before.
      if (this.clients.has(connection)) this.app.emit('disconnect', connection)
    })
    socket.onAny((name: string, ...values: unknown[]) => this.#take(client, name, values))
    this.app.emit('connection', connection)
  }

  /** Runs the call of a message, unless the application listens to this event itself. */
  #take(client: Client, name: string, values: unknown[]): void {
    if (client.socket.listenerCount(name) > (name === 'error' ? ERROR_LISTENERS : 0)) return
    const hasCallback = typeof values.at(-1) === 'function'
    const acknowledge = hasCallback ? (values.pop() as Acknowledge) : () => undefined
    if (client.calls === 0) client.changesBefore = this.logins.changes
    client.unanswered += 1
    // Counts answers, not methods: these may run on after their time limit.
    const answer: Acknowledge = (error, result) => {
      // As in Feathers, an error is the only argument.
      if (error === null) acknowledge(null, result)
      else acknowledge(error)
      client.unanswered -= 1
      this.#settle(client)
    }
    void new SocketCall(this, client, answer).run(name, values)
  }

  /** Ends a client whose login has ended, after its calls are answered. */
  #end(client: Client): void {
    const { connection, socket } = client
    this.channels.leaveAll(connection)
    client.endedLogin = connection.authentication
    if (socket.connected) this.#settle(client)
    else this.#leave(connection)
  }

  #settle({ connection, isEnding, unanswered }: Client): void {
    const isOver = isEnding && unanswered === 0 && this.clients.has(connection)
    if (isOver) this.app.emit('disconnect', connection)
    if (this.isClosing && !this.#isBusy) this.#onIdle()
  }

  #leave(connection: object = {}): void {
    const client = this.clients.get(connection)
    if (client === undefined) return
    this.clients.delete(connection)
    this.channels.end(connection)
    for (const tell of client.onGone) tell()
    if (!client.isAdmitted) void this.#forgetLogin(connection)
    client.socket.disconnect()
    this.#settle(client)
  }

  /** Makes strategies drop a login that no `disconnect` ends: its connection was never admitted, or has ended before. */
  async #forgetLogin(connection: object): Promise<void> {
    try {
      for (const service of authenticationServices(this.app).values()) {
        await service.handleConnection('disconnect', connection as Connection)
      }
    } catch (error) {
      logListenerError(this.app, error, 'disconnect')
    }
  }

  /** Whether any client waits for an answer. */
  get #isBusy(): boolean {
    return [...this.clients.values()].some(({ unanswered }) => unanswered > 0)
  }

  #addService(path: string, entry: MethodEntry['entry']): void {
    this.channels.addService(entry)
    const { service, options } = entry
    if (this.checksReads && isFollowable(service)) service.isFollowed = true
    const emitter = service as { on(event: string, listener: EventListener): unknown }
    for (const event of options.serviceEvents) {
      emitter.on(event, (data, context) => {
        const emitted = { entry, path, event, data, context }
        void publishEvent(this, emitted)
        const changes = this.logins.findUserChanges(emitted)
        for (const change of changes) void this.logins.followUser(change)
        this.#others?.share(emitted, changes)
      })
    }
  }
}

type EventListener = (data: unknown, context?: HookContext) => void
