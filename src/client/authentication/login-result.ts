import type { DeclaredUser } from '../../core/declared-types.ts'
import type { AuthenticationRequest } from '../../core/params.ts'
import type { OutsideOf, ServedOptions } from '../../core/services/service-map.ts'
import type { Received } from '../received.ts'

/** What a login resolves to, with whatever else the server sends. */
export interface LoginResult<User = LoginUser> {
  /** The token that the calls of the client send from then on. */
  accessToken: string
  /** How the login was proven. */
  authentication: LoginProof
  /** The user as external callers see it. Missing where the tokens of the server have no user. */
  user: User
  [entityOrOther: string]: unknown
}

/** How a login was proven. */
export interface LoginProof {
  /** The name of the strategy. */
  strategy: string
  /** The claims of the token, if the server sends them. */
  payload?: LoginClaims
  [other: string]: unknown
}

/** The claims of a token that all servers have in common. */
export interface LoginClaims {
  /** The id of the user. */
  sub?: string
  /** When the token expires, in seconds since the epoch. */
  exp?: number
  [claim: string]: unknown
}

/** The data of a login: the name of a strategy, and what that strategy asks for. */
export interface LoginData extends AuthenticationRequest {
  /** The name of the strategy: `'local'`. */
  strategy: string
}

/** Services with one that logs users in. */
interface WithLogins<Service> {
  readonly authentication: Service
}

/** A service that logs users in. */
type Logins<User> = { create(...values: never): Promise<{ user: User }> }

/** The user in the result that the options of a `Served` service describe, else `unknown`. */
type ServedUser<Service> = [ServedOptions<Service>] extends [never]
  ? unknown
  : OutsideOf<Service> extends Logins<infer User>
    ? User
    : unknown

/**
 * The user in the result of a login at a server with these services: as in the result schema of the service
 * `authentication`, otherwise as declared by the application in `DeclaredTypes`, otherwise as in the type of the
 * service.
 */
export type LoginUser<Services = unknown> = Received<
  Services extends WithLogins<infer Service>
    ? unknown extends ServedUser<Service>
      ? DeclaredOr<Service extends Logins<infer User> ? User : unknown>
      : ServedUser<Service>
    : DeclaredUser
>

type DeclaredOr<User> = unknown extends DeclaredUser ? User : DeclaredUser

/** The part of an authentication service that clients call. */
export interface LoginService {
  /** Logs in. */
  create(data: LoginData, params?: object): Promise<LoginResult>
  /** Logs out. Resolves to the ended login, `null` if there was none. */
  remove(id: null): Promise<LoginResult | null>
}
