import type { ClientParams } from '../remote-services.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import type { Login, LoginAttempt } from './login-state.ts'
import type { ServerLogout } from './server-logout.ts'
import type { SessionRefresh } from './session-refresh.ts'

/** A login whose tokens are kept: in the storage, or by the browser in cookies. */
export interface KeptLogin {
  /** Returns how to log in by the tokens that were kept, or to renew the session of the login. */
  createAttempt(strategy: string, params: ClientParams | undefined): LoginAttempt
  /**
   * Ends a login, or without one the tokens that were kept, here and on the server. Resolves to the server's result,
   * `null` if it knows nothing of it.
   */
  logOut(login: Login | undefined): Promise<LoginResult | null>
}

/** What a {@link KeptLogin} needs of its client. */
export interface LoginTools {
  readonly options: AuthenticationClientOptions
  readonly session: SessionRefresh
  readonly logout: ServerLogout
  /** Returns the authentication service. */
  call(): LoginService
  /** Returns who is logged in here. */
  findLogin(): Login | undefined
  /** Resolves to the token in the storage, else to that of the page's URL; `null` for none. */
  findToken(): Promise<string | null>
  /** Resolves to the token in the storage, `null` for none. */
  readToken(): Promise<string | null>
  /** Resolves to the token of the page's URL, which moves into the storage; `undefined` for none. */
  usePageToken(): Promise<string | undefined>
  /** Removes the token in the storage: one of these, or any. */
  removeTokens(tokens?: readonly string[]): Promise<void>
  /** Called with what the server has answered to a logout, `null` for nothing. */
  tellEnd(result: LoginResult | null): void
}
