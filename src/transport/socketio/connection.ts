import type { Socket } from 'socket.io'
import { authenticationServices, findAuthentication } from '../../auth/default-authentication.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { EventBus } from '../../core/events/event-bus.ts'
import type {
  Application,
  AuthenticationRequest,
  Headers,
  Params,
  Query,
} from '../../core/index.ts'
import { ServiceError, Timeout } from '../../core/index.ts'
import { parseCaller } from '../parse-authentication.ts'
import { ExternalParams, RequestFacts } from '../request-params.ts'
import type { RestTransport } from '../rest-transport.ts'
import { Channels, hasEnded } from './channels.ts'
import type { Handshake } from './socket-server.ts'
import { getHandshake } from './socket-server.ts'

const PROVIDER = 'socketio'

/** The connection of a client, which lives as long as its socket. Its fields are params of each call. */
export interface Connection {
  /** `'socketio'`, as in the params of its calls. */
  readonly provider: string
  /** The headers of the handshake. */
  readonly headers: Headers
  /** The credentials of the login, which authenticate each call. */
  authentication?: AuthenticationRequest | undefined
  /** The user, and other params. */
  [name: string]: unknown
}

/** A socket of Socket.IO, with the connection where Feathers keeps it. */
export type ServiceSocket = Socket & {
  /** The connection. Middleware may set fields of it, which become params of calls. */
  feathers?: Connection
}

/** What the server knows about one call over a socket. */
export class SocketFacts extends RequestFacts {
  readonly client: Client

  constructor(client: Client) {
    super(client.handshake.request, client.handshake.reply)
    this.client = client
  }

  /** Returns the params of the call. Fields of the connection cannot replace `query`, `route` and `connection`. */
  createParams(query: Query = {}, route: ExternalParams['route'] = {}): Params {
    const { connection } = this.client
    const { headers } = connection
    const params: Params = new ExternalParams(this, headers, query, route, connection, PROVIDER)
    params.query = query
    params.route = route
    params.connection = connection
    return params
  }

  // The request is that of the handshake, not of this call.
  override get requestUrl(): undefined {
    return undefined
  }

  override get requestMethod(): undefined {
    return undefined
  }

  protected override watchClient(onGone: () => void): void {
    if (hasEnded(this.client.connection)) onGone()
    else this.client.onGone.set(this, onGone)
  }

  /** Stops watching the client: call it when the call ends, because the socket stays open. */
  override release(): void {
    this.client.onGone.delete(this)
  }
}

/** One client: its socket, and its connection. */
export class Client {
  readonly socket: ServiceSocket
  readonly connection: Connection
  readonly handshake: Handshake
  /** Called when the client has left. */
  readonly onGone: Map<SocketFacts, () => void> = new Map()
  /** The number of its running calls, including those past their time limit. */
  calls = 0
  /** The number of its calls without a response. */
  unanswered = 0
  isLoggingIn = true
  /** Whether the application has emitted `connection` for it. */
  isAdmitted = false
  /** The value of `Hub.changes` when its oldest running call started. */
  changesBefore: number
  /** The latest read of each of its users, by the name of the entity. */
  readonly latestReads: Map<string | null | undefined, object> = new Map()
  /** The credentials of the ended login, `null` if none has ended. */
  endedLogin: Connection['authentication'] | null = null

  constructor(socket: ServiceSocket, changesBefore: number) {
    this.socket = socket
    this.changesBefore = changesBefore
    this.handshake = getHandshake(socket.request)
    const connection: Connection = { provider: PROVIDER, headers: socket.handshake.headers }
    this.connection = connection
    Object.defineProperty(socket, 'feathers', {
      get: () => connection,
      // Middleware may assign a copy with more fields, but channels and logins refer to this object.
      set: (fields: object) => void Object.assign(connection, fields),
    })
  }

  /**
   * Whether its login has ended without a new one. The socket closes after its calls have responses: one of them may
   * have ended the login.
   */
  get isEnding(): boolean {
    return this.endedLogin !== null && this.endedLogin === this.connection.authentication
  }

  /**
   * Logs the client in by the `accessToken` in `auth` of its handshake, or by what the strategies read from the headers.
   * Without either, the client stays anonymous.
   * @throws {ServiceError} the login was rejected
   */
  async logIn({ app, authentication }: RestTransport): Promise<void> {
    const { request, reply } = this.handshake
    const { accessToken } = this.socket.handshake.auth as { readonly accessToken?: unknown }
    // Pages without a login send `null`. Any other value was meant as a token.
    const given = accessToken ? { strategy: 'jwt', accessToken } : null
    const caller = given ?? (await parseCaller(app, authentication, request, reply))
    const service = caller && findAuthentication(app, authentication[0]?.service)
    if (!caller || !service) return
    this.connection.authentication = caller
    // Credentials of other strategies, such as API keys, authenticate each call.
    if (!service.configuration.authStrategies.includes(String(caller.strategy))) return
    const facts = new SocketFacts(this)
    await service.create(caller, facts.createParams()).finally(() => facts.release())
  }
}

/** Options of the sockets of an application. */
export interface HubOptions {
  /**
   * Carries events to the sockets of other processes: `mongoEvents()`, the same as in `realtime({ bus })`. Default: `null`,
   * only events of this process.
   */
  readonly bus?: EventBus | null
  /**
   * Whether an event is sent only to connections for which `find` of the service would show its record. The hooks of
   * `find` run once for each of them. Default: `false`.
   */
  readonly checkReads?: boolean
  /** How many calls one connection may run at the same time. Default: 100. */
  readonly maxCalls?: number
  /** How many bytes may wait for a client that does not read before its connection is closed. Default: 16 MiB. */
  readonly maxWaitingBytes?: number
}

/** The clients of an application, and what ends them. */
export class Hub {
  readonly app: Application
  readonly channels: Channels
  /** The clients by their connections, including those that are still logging in by the handshake. */
  readonly clients: Map<object, Client> = new Map()
  readonly options: HubOptions
  /** Its limits, errors and logins apply to sockets too. */
  declare transport: RestTransport
  /** Runs the call that a message asks for. The last value may be a callback. */
  declare take: (client: Client, name: string, values: unknown[]) => void
  /** Counts changes of users and ends of logins. A login during which it has grown is checked again. */
  changes = 0
  /** Called after each response while the server is closing and rejects new calls; `null` before. */
  #onClosing: (() => void) | null = null

  constructor(app: Application, options: HubOptions) {
    this.app = app
    this.channels = new Channels(app)
    this.options = options
  }

  get isClosing(): boolean {
    return this.#onClosing !== null
  }

  /** Sends an event to clients. */
  send(name: string, payload: unknown, clients: readonly Client[]): void {
    const ids = clients.map(({ socket }) => socket.id)
    // Encodes the event once for all clients. Channels have only connections of this process.
    if (ids.length > 0) this.app.io.local.to(ids).emit(name, payload)
  }

  /** Ends a client whose login has ended, after its calls have responses. */
  end(client: Client): void {
    const { connection, socket } = client
    this.channels.leaveAll(connection)
    client.endedLogin = connection.authentication
    if (socket.connected) this.settle(client)
    else this.leave(connection)
  }

  /** Called after each response. */
  settle({ connection, isEnding, unanswered }: Client): void {
    const isOver = isEnding && unanswered === 0 && this.clients.has(connection)
    if (isOver) this.app.emit('disconnect', connection)
    this.#onClosing?.()
  }

  /** Removes a client that has left, or cuts it off. */
  leave(connection: object = {}): void {
    const client = this.clients.get(connection)
    if (client === undefined) return
    this.clients.delete(connection)
    this.channels.end(connection)
    for (const tell of client.onGone.values()) tell()
    if (!client.isAdmitted) void this.forgetLogin(connection)
    client.socket.disconnect()
    this.#onClosing?.()
  }

  /** Makes strategies drop a login that no `disconnect` ends: its connection was never admitted, or has ended before. */
  async forgetLogin(connection: object): Promise<void> {
    const services = [...authenticationServices(this.app).values()]
    await Promise.all(
      services.map((one) => one.handleConnection('disconnect', connection as Connection)),
    ).catch((error: unknown) => logListenerError(this.app, error, 'disconnect'))
  }

  /** Rejects new calls. Resolves when all clients have their responses, have left, or were cut off. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#onClosing = () => {
        if ([...this.clients.values()].every(({ unanswered }) => unanswered === 0)) resolve()
      }
      this.#onClosing()
    })
  }
}

/** Logs an error, unless it only rejects a caller. */
export function logFault(app: Application, error: unknown, event: string): void {
  const isRejection = error instanceof ServiceError && error.code < 500
  if (!isRejection || error instanceof Timeout) logListenerError(app, error, event)
}
