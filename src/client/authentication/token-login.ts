import type { ClientParams } from '../remote-services.ts'
import type { KeptLogin, LoginTools } from './kept-login.ts'
import type { LoginResult } from './login-result.ts'
import type { Login, LoginAttempt } from './login-state.ts'
import { isRefusal, NoAccessToken, toClaims } from './login-state.ts'
import { readClaims } from './other-tabs.ts'

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
