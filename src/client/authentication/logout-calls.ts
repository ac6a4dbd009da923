import type { LoginResult } from './login-result.ts'
import { isRefusal } from './login-state.ts'

/** Tells the server of logouts, one after the other. */
export class LogoutCalls {
  readonly #send: () => Promise<LoginResult | null>
  #last: Promise<unknown> = Promise.resolve()
  #endingToken: string | undefined

  /** @param send calls the server; the authorizer of the call asks for {@link endingToken} */
  constructor(send: () => Promise<LoginResult | null>) {
    this.#send = send
  }

  /** The token of the login that the call in flight ends. */
  get endingToken(): string | undefined {
    return this.#endingToken
  }

  /**
   * Resolves to the server's result, `null` if it knows nothing of the login.
   * @throws {Unavailable} the server was not told
   */
  end(accessToken: string): Promise<LoginResult | null> {
    const call = this.#last.then(async () => {
      this.#endingToken = accessToken
      try {
        return await this.#send()
      } catch (error) {
        if (isRefusal(error)) return null
        throw error
      } finally {
        this.#endingToken = undefined
      }
    })
    // The caller gets the error; the next logout only waits for the end of this one.
    this.#last = call.catch(() => undefined)
    return call
  }
}
