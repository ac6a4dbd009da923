import type { AuthenticationClientOptions } from './client-options.ts'
import { createLocationError, exchangeCode, findLocation, takeFromHash } from './location-token.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import type { Login, LoginAttempt } from './login-state.ts'
import { isRefusal, NoAccessToken } from './login-state.ts'
import type { ServerLogout } from './server-logout.ts'
import type { SessionRefresh } from './session-refresh.ts'

/** What logs in and out where the browser keeps the tokens. */
interface CookieTools {
  readonly options: AuthenticationClientOptions
  readonly session: SessionRefresh
  readonly logout: ServerLogout
  /** Returns the authentication service. */
  call(): LoginService
  /** Whether somebody is logged in here. */
  isLoggedIn(): boolean
}

/** Logs in and out by tokens in cookies, of which the browser has those of the last answer. */
export class CookieLogin {
  readonly #tools: CookieTools

  constructor(tools: CookieTools) {
    this.#tools = tools
  }

  /** Returns how to log in by the cookies; else by the code in the URL of the page, so that no link replaces a login. */
  createAttempt(): LoginAttempt {
    const { session, isLoggedIn } = this.#tools
    return {
      readToken: async () => undefined,
      send: async () => {
        try {
          const result = await session.send({ strategy: 'refresh' })
          this.#readLocation()
          return result
        } catch (error) {
          if (!isRefusal(error) || isLoggedIn()) throw error
        }
        const result = await this.#useLocation()
        if (result === null) throw new NoAccessToken('Nobody is logged in by a cookie')
        return result
      },
    }
  }

  /** Ends a login on the server. Resolves to its result, `null` if it knows nothing of the login. */
  logOut(login: Login | undefined): Promise<LoginResult | null> {
    const { session, logout } = this.#tools
    const accessToken = login?.result.accessToken ?? null
    // The answer to a refresh under way brings cookies: it has to come before.
    return session.lock(() => logout.run({ accessToken, refreshToken: undefined }))
  }

  /** Takes the outcome of a login elsewhere out of the URL of the page. Returns its error, `undefined` for none. */
  #readLocation(): string | undefined {
    const location = findLocation()
    if (location === undefined) return undefined
    takeFromHash(location, 'code', 'strategy')
    return takeFromHash(location, this.#tools.options.locationErrorKey)[0]
  }

  async #useLocation(): Promise<LoginResult | null> {
    const location = findLocation()
    if (location === undefined) return null
    const result = await exchangeCode(location, this.#tools.call())
    const message = this.#readLocation()
    if (message !== undefined) throw createLocationError(message)
    return result
  }
}
