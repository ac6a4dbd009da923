import type { ClientParams } from '../remote-services.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import type { Login, LoginAttempt } from './login-state.ts'
import { isRefusal, NoAccessToken, toClaims } from './login-state.ts'
import { readClaims } from './other-tabs.ts'
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

/** Logs in and out by tokens in the storage. */
export class TokenLogin implements KeptLogin {
  readonly #tools: LoginTools

  constructor(tools: LoginTools) {
    this.#tools = tools
  }

  createAttempt(strategy: string, params: ClientParams | undefined): LoginAttempt {
    const { options, session, call, findLogin, findToken, usePageToken } = this.#tools
    const refresh = async (accessToken: string): Promise<LoginResult | undefined> =>
      strategy === options.jwtStrategy ? session.refresh(accessToken) : undefined
    return {
      readToken: async () => {
        const accessToken = await findToken()
        if (accessToken === null) throw new NoAccessToken('No accessToken found in storage')
        return accessToken
      },
      readOtherToken: usePageToken,
      send: async (accessToken = '') => {
        // Any other token is newer than that of the login: another tab has renewed it.
        const isOfLogin = accessToken === findLogin()?.key
        const renewed = isOfLogin ? await refresh(accessToken) : undefined
        if (renewed !== undefined) return renewed
        try {
          return await call().create({ strategy, accessToken }, params)
        } catch (error) {
          const late = isRefusal(error) && !isOfLogin ? await refresh(accessToken) : undefined
          if (late === undefined) throw error
          return late
        }
      },
    }
  }

  async logOut(login: Login | undefined): Promise<LoginResult | null> {
    const { session, logout, readToken, removeTokens, tellEnd } = this.#tools
    const reading = Promise.all([readToken(), session.readEntry()])
    const [stored] = await Promise.allSettled([reading])
    const [kept, entry] = stored.status === 'fulfilled' ? stored.value : [null, null]
    // Another tab may have renewed the session: the login would come back by its tokens.
    const isNewer = login !== undefined && kept !== null && isSameSession(kept, login)
    const accessToken = isNewer ? kept : (login?.key ?? kept)
    const own = [login?.key, accessToken].filter((token) => token != null)
    const [removed] = await Promise.allSettled([removeTokens(login && own)])
    let result: LoginResult | null = null
    try {
      if (accessToken !== null) {
        const refreshToken = session.toToken(entry, accessToken)
        result = await logout.run({ accessToken, refreshToken })
      }
    } finally {
      if (accessToken !== null) tellEnd(result)
    }
    if (removed.status === 'rejected') throw removed.reason
    if (accessToken === null && stored.status === 'rejected') throw stored.reason
    return result
  }
}

/** Whether a token was issued for the session of a login, as far as both say. */
function isSameSession(accessToken: string, login: Login): boolean {
  const { sid } = toClaims(login)
  return sid !== undefined && readClaims(accessToken)['sid'] === sid
}
