import type { ClientParams } from '../remote-services.ts'
import { createLocationError, exchangeCode, findLocation, takeOutcome } from './location-token.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import type { LoginAttempt } from './login-state.ts'
import { isRefusal, NoAccessToken } from './login-state.ts'
import { sendRefresh } from './session-refresh.ts'

/** The tokens that a client has stored or was opened with. */
interface TokenSource {
  /** Resolves to the access token, `null` if there is none. */
  readAccessToken(): Promise<string | null>
  /** Resolves to the token in the URL of the page, `undefined` if there is none. */
  readPageToken(): Promise<string | undefined>
  /** Resolves to the refresh token that came with an access token, `undefined` if there is none for this strategy. */
  readRefreshToken(accessToken: string): Promise<string | undefined>
}

/** Returns the attempt to log in with the stored token, or to renew its session. */
export function createTokenAttempt(
  call: () => LoginService,
  strategy: string,
  params: ClientParams | undefined,
  source: TokenSource,
): LoginAttempt {
  const refresh = async (accessToken: string): Promise<LoginResult | undefined> => {
    const refreshToken = await source.readRefreshToken(accessToken)
    return refreshToken === undefined ? undefined : sendRefresh(call(), refreshToken)
  }
  return {
    readToken: async () => {
      const accessToken = await source.readAccessToken()
      if (accessToken === null) throw new NoAccessToken('No accessToken found in storage')
      return accessToken
    },
    readOtherToken: () => source.readPageToken(),
    send: async (accessToken = '', present) => {
      // Any other token is newer than that of the login: another tab has renewed it.
      const isOfLogin = accessToken === present?.key
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

/**
 * Returns the attempt to log in with the cookies, otherwise with the code in the URL of the page. In this order, no
 * link can replace a login.
 * @param errorKey the name in the hash under which an external login leaves its error
 */
export function createCookieAttempt(call: () => LoginService, errorKey: string): LoginAttempt {
  return {
    send: async (_accessToken, present) => {
      const location = findLocation()
      const takeError = (): string | undefined => location && takeOutcome(location, errorKey)
      try {
        const result = await sendRefresh(call(), undefined)
        takeError()
        return result
      } catch (error) {
        if (!isRefusal(error) || present !== undefined) throw error
      }
      const result = location && (await exchangeCode(location, call()))
      const message = takeError()
      if (message !== undefined) throw createLocationError(message)
      if (!result) throw new NoAccessToken('There is no login by a cookie')
      return result
    },
  }
}
