import type { Socket } from 'socket.io'
import type { Authentication } from '../../auth/authentication.ts'
import { findAuthentication } from '../../auth/default-authentication.ts'
import type { AuthenticationRequest, Headers, Params, Query } from '../../core/index.ts'
import { parseCaller } from '../parse-authentication.ts'
import { ExternalParams, RequestFacts } from '../request-params.ts'
import type { RestTransport } from '../rest-transport.ts'
import { hasEnded } from './channels.ts'
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
  readonly #client: Client
  #onGone: (() => void) | null = null

  constructor(client: Client) {
    super(client.handshake.request, client.handshake.reply)
    this.#client = client
  }

  // The request is that of the handshake, not of this call.
  override get requestUrl(): undefined {
    return undefined
  }

  override get requestMethod(): undefined {
    return undefined
  }

  protected override watchClient(onGone: () => void): void {
    if (hasEnded(this.#client.connection)) onGone()
    else this.#client.onGone.add(onGone)
    this.#onGone = onGone
  }

  /** Stops watching the client: call it when the call ends, because the socket stays open. */
  override release(): void {
    if (this.#onGone !== null) this.#client.onGone.delete(this.#onGone)
  }
}

/** One client: its socket, and its connection. */
export class Client {
  readonly socket: ServiceSocket
  readonly connection: Connection
  readonly handshake: Handshake
  /** Called when the client has gone. */
  readonly onGone: Set<() => void> = new Set()
  /** How many of its calls are running, including those past their time limit. */
  calls = 0
  /** How many of its calls have no answer yet. */
  unanswered = 0
  isLoggingIn = true
  /** Whether the application has emitted `connection` for it. */
  isAdmitted = false
  /** `Logins.changes` when its oldest running call began. */
  changesBefore: number
  /** The latest read of its user, by the key of the settings of the login. */
  readonly userReads: Map<string, object> = new Map()
  /** The credentials of the login that has ended, `null` if none has. */
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
   * Whether its login has ended, and it has not logged in again. The socket closes after its calls are answered: one of
   * them may have ended the login.
   */
  get isEnding(): boolean {
    return this.endedLogin !== null && this.endedLogin === this.connection.authentication
  }

  /** Returns the params of a call. Fields of the connection cannot replace `query`, `route` and `connection`. */
  createParams(query: Query, route: Readonly<Record<string, string>>): CallParams {
    const facts = new SocketFacts(this)
    const { connection } = this
    const { headers } = connection
    const params: Params = new ExternalParams(facts, headers, query, route, connection, PROVIDER)
    params.query = query
    params.route = route
    params.connection = connection
    return { facts, params }
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
    const service = caller === null ? null : findAuthentication(app, authentication[0]?.service)
    if (service === null) return
    this.connection.authentication = caller ?? undefined
    if (isForLogins(service, caller)) {
      const { facts, params } = this.createParams({}, {})
      await service.create(caller, params).finally(() => facts.release())
    }
  }
}

interface CallParams {
  readonly facts: SocketFacts
  readonly params: Params
}

/** Whether credentials can log in. Those of other strategies, such as API keys, authenticate each call. */
function isForLogins(
  { configuration }: Authentication,
  caller: AuthenticationRequest | null,
): caller is AuthenticationRequest {
  return configuration.authStrategies.includes(String(caller?.strategy))
}
