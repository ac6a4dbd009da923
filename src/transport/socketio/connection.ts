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

/** What is known of a client while its socket is open. Its fields are params of each of its calls. */
export interface Connection {
  /** `'socketio'`, as in the params of its calls. */
  readonly provider: string
  /** The headers of the request that has opened the socket. */
  readonly headers: Headers
  /** What the login has left there: each call is authenticated by it. */
  authentication?: AuthenticationRequest | undefined
  /** The user, and whatever else is to be a param. */
  [name: string]: unknown
}

/** A socket of Socket.IO, on which Feathers keeps the connection. */
export type ServiceSocket = Socket & { feathers?: Connection }

/** What the server knows of one call over a socket. */
export class SocketFacts extends RequestFacts {
  readonly #client: Client
  #onGone: (() => void) | null = null

  constructor(client: Client) {
    super(client.handshake.request, client.handshake.reply)
    this.#client = client
  }

  // Calls share the request of the handshake.
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

  /** To be called at the end of the call: a socket outlasts its calls. */
  release(): void {
    if (this.#onGone !== null) this.#client.onGone.delete(this.#onGone)
  }
}

/** One client: its socket, and its connection. */
export class Client {
  readonly socket: ServiceSocket
  readonly connection: Connection
  readonly handshake: Handshake
  /** What is called when the client has gone. */
  readonly onGone: Set<() => void> = new Set()
  /** How many of its calls are under way, those too whose time limit is over. */
  calls = 0
  /** How many of its calls are not answered. */
  unanswered = 0
  isLoggingIn = true
  /** Whether the application knows of the connection. */
  isAdmitted = false
  /** How many changes of logins there were before the oldest call that is under way. */
  changesBefore: number
  /** The last read of its user to begin, by the key of the settings of the login. */
  readonly userReads: Map<string, object> = new Map()
  /** The login that has ended, `null` for none. */
  endedLogin: Connection['authentication'] | null = null

  constructor(socket: ServiceSocket, changesBefore: number) {
    this.socket = socket
    this.changesBefore = changesBefore
    this.handshake = getHandshake(socket.request)
    const connection: Connection = { provider: PROVIDER, headers: socket.handshake.headers }
    this.connection = connection
    Object.defineProperty(socket, 'feathers', {
      get: () => connection,
      // Middleware may assign a copy with more fields. Channels and logins have this object.
      set: (fields: object) => void Object.assign(connection, fields),
    })
  }

  /**
   * Whether its login has ended, and there is no other. The socket closes once its calls are answered: one of them may
   * have ended the login.
   */
  get isEnding(): boolean {
    return this.endedLogin !== null && this.endedLogin === this.connection.authentication
  }

  /** Returns the params of a call. Fields of the connection change none of the others. */
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
   * Logs the client in by what its handshake carries: an `accessToken` in `auth`, or what the strategies read from
   * the headers. Without that, nothing happens.
   * @throws {ServiceError} the login was rejected
   */
  async logIn({ app, authentication }: RestTransport): Promise<void> {
    const { request, reply } = this.handshake
    const { accessToken } = this.socket.handshake.auth as { readonly accessToken?: unknown }
    // Pages without a login often send `null`. Anything else is checked: it was meant as a token.
    const given = accessToken ? { strategy: 'jwt', accessToken } : null
    const caller = given ?? (await parseCaller(app, authentication, request, reply))
    const service = caller === null ? null : findAuthentication(app, authentication[0]?.service)
    if (service === null) return
    // As for a request: each call is authenticated by it.
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

/** Some strategies, of API keys for example, authenticate calls without a login. */
function isForLogins(
  { configuration }: Authentication,
  caller: AuthenticationRequest | null,
): caller is AuthenticationRequest {
  return configuration.authStrategies.includes(String(caller?.strategy))
}
