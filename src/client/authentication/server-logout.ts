import { SerialQueue } from '../../core/serial-queue.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import { isRefusal } from './login-state.ts'
import type { SessionRefresh } from './session-refresh.ts'

/** The tokens of a login that ends. */
interface EndingTokens {
  /** `null` for one in a cookie. */
  readonly accessToken: string | null
  /** The refresh token beside it, `undefined` for none. */
  readonly refreshToken: string | undefined
}

/** Ends logins on the server, one after the other. */
export class ServerLogout {
  readonly #session: SessionRefresh
  readonly #call: () => LoginService
  readonly #logouts = new SerialQueue()
  #token: string | null | undefined

  constructor(session: SessionRefresh, call: () => LoginService) {
    this.#session = session
    this.#call = call
  }

  /** The token of the login that ends right now, `null` for one in a cookie, `undefined` for none. */
  get token(): string | null | undefined {
    return this.#token
  }

  /** Ends a login. Resolves to the server's result, `null` if it knows nothing of the login. */
  run({ accessToken, refreshToken }: EndingTokens): Promise<LoginResult | null> {
    return this.#logouts.run(async () => {
      try {
        const result = await this.#remove(accessToken)
        if (result !== null || refreshToken === undefined) return result
        // The session outlives its access token: a new one is needed to end it.
        const renewed = await orNull(this.#session.send({ strategy: 'refresh', refreshToken }))
        return renewed && (await this.#remove(renewed.accessToken))
      } finally {
        this.#token = undefined
      }
    })
  }

  #remove(token: string | null): Promise<LoginResult | null> {
    this.#token = token
    return orNull(this.#call().remove(null))
  }
}

/** Resolves to `null` where the server refuses. */
async function orNull<T>(pending: Promise<T>): Promise<T | null> {
  try {
    return await pending
  } catch (error) {
    if (isRefusal(error)) return null
    throw error
  }
}
