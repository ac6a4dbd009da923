import type { KeptLogin, LoginTools } from './kept-login.ts'
import { createLocationError, exchangeCode, findLocation, takeFromHash } from './location-token.ts'
import type { LoginResult } from './login-result.ts'
import type { Login, LoginAttempt } from './login-state.ts'
import { isRefusal, NoAccessToken } from './login-state.ts'

/** Logs in and out by tokens in cookies, of which the browser has those of the last answer. */
export class CookieLogin implements KeptLogin {
  readonly #tools: LoginTools

  constructor(tools: LoginTools) {
    this.#tools = tools
  }

  /** Returns how to log in by the cookies; else by the code in the URL of the page, so that no link replaces a login. */
  createAttempt(): LoginAttempt {
    const { session, findLogin } = this.#tools
    return {
      readToken: async () => undefined,
      send: async () => {
        try {
          const result = await session.send({ strategy: 'refresh' })
          this.#readLocation()
          return result
        } catch (error) {
          if (!isRefusal(error) || findLogin() !== undefined) throw error
        }
        const result = await this.#useLocation()
        if (result === null) throw new NoAccessToken('Nobody is logged in by a cookie')
        return result
      },
    }
  }

  async logOut(login: Login | undefined): Promise<LoginResult | null> {
    const { session, logout, removeTokens, tellEnd } = this.#tools
    const accessToken = login?.result.accessToken ?? null
    let result: LoginResult | null = null
    try {
      // The answer to a refresh under way brings cookies: it has to come before.
      result = await session.lock(() => logout.run({ accessToken, refreshToken: undefined }))
    } finally {
      // This tells other tabs, which would log in again by the cookies if these were still there.
      await removeTokens()
      tellEnd(result)
    }
    return result
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
