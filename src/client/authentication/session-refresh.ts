import { isAway } from '../../core/errors/error-classes.ts'
import { ServiceError, Timeout } from '../../core/errors/index.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import { isRefusal } from './login-state.ts'

/** Servers return the same tokens for a repeated refresh within ten seconds: these waits fit. */
const WAITS_MS: readonly number[] = [250, 1_000]

/** The timeout of the first request, which leaves time for a repeat. */
const FIRST_TIMEOUT_MS = 5_000

/** How many of its last characters identify an access token. */
const TAG_LENGTH = 22

/**
 * Returns the stored form of a refresh token. Tabs share the storage, where another login may have stored its access
 * token, so a refresh token is stored with the end of the access token that came with it.
 */
export function toRefreshEntry(accessToken: string, refreshToken: string): string {
  return `${accessToken.slice(-TAG_LENGTH)} ${refreshToken}`
}

/** Returns the refresh token of an entry if it came with this access token, otherwise `undefined`. */
export function findRefreshToken(entry: string | null, accessToken: string): string | undefined {
  const [tag, refreshToken] = entry?.split(' ') ?? []
  return tag === accessToken.slice(-TAG_LENGTH) ? refreshToken : undefined
}

/**
 * Renews a session, and repeats the request if the response may be lost. Resolves to the renewed login.
 * @param refreshToken `undefined` for one in a cookie
 */
export async function sendRefresh(
  service: LoginService,
  refreshToken: string | undefined,
): Promise<LoginResult> {
  const data = { strategy: 'refresh', ...(refreshToken !== undefined && { refreshToken }) }
  const first = { connection: { timeoutMs: FIRST_TIMEOUT_MS } }
  for (const [index, waitMs] of WAITS_MS.entries()) {
    try {
      return await service.create(data, index === 0 ? first : undefined)
    } catch (error) {
      const status = error instanceof ServiceError ? error.code : 0
      // Without a response, the server may have renewed the session, or may still do so.
      if (!isAway(status) && status !== Timeout.code) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
  return service.create(data)
}

/** Resolves to `null` if the server rejects the request with 401. */
export async function orNull<T>(pending: Promise<T>): Promise<T | null> {
  try {
    return await pending
  } catch (error) {
    if (isRefusal(error)) return null
    throw error
  }
}
