import type { FastifyInstance } from 'fastify'
import type { Server } from 'socket.io'
import { authenticationServices } from '../../auth/default-authentication.ts'
import { onLoginEnd } from '../../auth/login-end.ts'
import type { Emitter } from '../../core/events/emitter.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { Application, HookContext, MethodEntry, Params } from '../../core/index.ts'
import { TooManyRequests, toServiceError } from '../../core/index.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import type { RestTransport } from '../rest-transport.ts'
import { hasEnded } from './channels.ts'
import type { Connection, HubOptions, ServiceSocket } from './connection.ts'
import { Client, Hub } from './connection.ts'
import { Logins } from './logins.ts'
import { publishEvent } from './publishing.ts'
import { SharedEvents } from './shared-events.ts'
import type { Acknowledge, ReadMessage } from './socket-call.ts'
import { createReader, SocketCall } from './socket-call.ts'

const NOT_SERVED =
  'socketio() needs the limits and logins of REST: add app.configure(rest()), before or after it'

const IGNORE = (): void => undefined

/** The sockets of an application: their calls and events. */
export class SocketHub extends Hub {
  declare readMessage: ReadMessage
  readonly #logins = new Logins(this)
  /** The sockets of other processes. */
  readonly #others: SharedEvents | null
  /** Called when the server is closing and all calls have responses. */
  #onIdle: () => void = IGNORE

  constructor(app: Application, options: HubOptions) {
    super(app, options)
    const { bus = null } = options
    this.#others = bus === null ? null : new SharedEvents(this, this.#logins, bus)
    for (const [path, entry] of app.entries) this.#addService(path, entry)
    app.observe((change, path, entry) => {
      if (change === 'added') this.#addService(path, entry)
    })
    onLoginEnd(app, (end) => {
      this.#logins.end(end)
      this.#others?.shareEnd(end)
    })
    // Also emitted to end a connection, for example when a token expires.
    app.on('disconnect', (connection: Connection) => {
      if (this.clients.has(connection)) this.#leave(connection)
      else this.channels.leaveAll(connection)
    })
    app.on('login', (_result: unknown, { connection }: Params, { service }: HookContext) => {
      const client = this.clients.get(connection ?? {})
      if (client !== undefined) return this.#logins.checkLogin(service as never, client)
      return connection && hasEnded(connection) ? this.#forgetLogin(connection) : undefined
    })
    app.on('logout', (_result: unknown, { connection }: { readonly connection?: object }) => {
      if (connection) this.channels.leaveAll(connection)
    })
    app.hooks({
      setup: async ({ server }: { readonly server?: unknown }, next: () => Promise<void>) => {
        // Without a server, the services are set up for internal calls only.
        if (server !== undefined && this.transport === undefined) throw new TypeError(NOT_SERVED)
        await next()
      },
    })
  }

  /** Lets the clients of a server of Socket.IO log in and make calls. */
  open(server: FastifyInstance, io: Server): void {
    const { app } = this
    Object.defineProperty(app, 'io', { value: io, configurable: true })
    io.use((socket, next) => {
      const fail = (error: unknown): void => {
        next(new Error('Internal error'))
        logListenerError(app, error, 'connection')
      }
      // Later middleware may throw too, and even the logger may: neither must end the process.
      void this.#connect(socket).then(next).catch(fail).catch(IGNORE)
    })
    io.on('connection', (socket: ServiceSocket) => this.#admit(socket))
    server.addHook('preClose', async () => {
      this.isClosing = true
      // Running calls get their responses first, unless their client leaves or is cut off.
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
        this.#tellIdle()
      })
      await io.close()
    })
  }

  /** Sets the transport of calls, if there is none yet. */
  serve(transport: RestTransport): void {
    if (this.transport !== undefined) return
    this.transport = transport
    this.readMessage = createReader(transport)
  }

  /** Logs a socket in. Resolves to the error that rejects it. Later middleware may still reject it. */
  async #connect(socket: ServiceSocket): Promise<Error | undefined> {
    const client = new Client(socket, this.#logins.changes)
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
    // Socket.IO itself listens to `error` once.
    if (client.socket.listenerCount(name) > (name === 'error' ? 1 : 0)) return
    const hasCallback = typeof values.at(-1) === 'function'
    const acknowledge = hasCallback ? (values.pop() as Acknowledge) : null
    if (client.calls === 0) client.changesBefore = this.#logins.changes
    void new SocketCall(this, client, acknowledge).run(this.readMessage, name, values)
  }

  override end(client: Client): void {
    const { connection, socket } = client
    this.channels.leaveAll(connection)
    client.endedLogin = connection.authentication
    if (socket.connected) this.settle(client)
    else this.#leave(connection)
  }

  override settle({ connection, isEnding, unanswered }: Client): void {
    const isOver = isEnding && unanswered === 0 && this.clients.has(connection)
    if (isOver) this.app.emit('disconnect', connection)
    if (this.isClosing) this.#tellIdle()
  }

  #tellIdle(): void {
    if ([...this.clients.values()].every(({ unanswered }) => unanswered === 0)) this.#onIdle()
  }

  #leave(connection: object = {}): void {
    const client = this.clients.get(connection)
    if (client === undefined) return
    this.clients.delete(connection)
    this.channels.end(connection)
    for (const tell of client.onGone.values()) tell()
    if (!client.isAdmitted) void this.#forgetLogin(connection)
    client.socket.disconnect()
    if (this.isClosing) this.#tellIdle()
  }

  /** Makes strategies drop a login that no `disconnect` ends: its connection was never admitted, or has ended before. */
  async #forgetLogin(connection: object): Promise<void> {
    const services = [...authenticationServices(this.app).values()]
    await Promise.all(
      services.map((one) => one.handleConnection('disconnect', connection as Connection)),
    ).catch((error: unknown) => logListenerError(this.app, error, 'disconnect'))
  }

  #addService(path: string, entry: MethodEntry['entry']): void {
    this.channels.addService(entry)
    const { service, options } = entry
    if (this.checksReads && isFollowable(service)) service.isFollowed = true
    for (const event of options.serviceEvents) {
      const emitter = service as object as Emitter
      emitter.on(event, (data: unknown, context?: HookContext) => {
        const emitted = { entry, path, event, data, context }
        void publishEvent(this, emitted)
        const changes = this.#logins.findUserChanges(emitted)
        for (const change of changes) this.#logins.followUser(change)
        this.#others?.share(emitted, changes)
      })
    }
  }
}
