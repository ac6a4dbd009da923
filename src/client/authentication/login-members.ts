import type { ClientParams } from '../remote-methods.ts'
import type { AuthenticationClient } from './authentication-client.ts'
import type { LoginData, LoginResult, LoginUser } from './login-result.ts'

/** What `client.configure(authentication())` gives a client for a server with these services. */
export interface LoginMembers<Services = unknown> extends LoginMethods<Services> {
  /** What logs in and out: the methods beside it are its own. */
  readonly authentication: AuthenticationClient
}

interface LoginMethods<Services> {
  /**
   * Logs in: `authenticate({ strategy: 'local', email, password })`. Without data it is
   * {@link reAuthenticate}.
   */
  authenticate(data?: LoginData, params?: ClientParams): Promise<LoginResult<LoginUser<Services>>>
  /**
   * Resolves to the login that is there; without one, or with `force`, logs in by the token that was
   * kept.
   */
  reAuthenticate(
    force?: boolean,
    strategy?: string,
    params?: ClientParams,
  ): Promise<LoginResult<LoginUser<Services>>>
  /** Logs out. Resolves to `null` if nobody was logged in. */
  logout(): Promise<LoginResult<LoginUser<Services>> | null>
}

/** Methods that say what is missing, of a client that has no logins yet. */
export const MISSING_LOGIN: LoginMethods<unknown> = {
  authenticate: () => refuse('authenticate'),
  reAuthenticate: () => refuse('reAuthenticate'),
  logout: () => refuse('logout'),
}

function refuse(name: string): Promise<never> {
  const error = new TypeError(`client.${name}() needs client.configure(authentication()) before`)
  return Promise.reject(error)
}
