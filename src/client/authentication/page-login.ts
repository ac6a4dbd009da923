import { GeneralError } from '../../core/errors/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import type { LocationWithHash } from './location-token.ts'
import { createLocationError, exchangeCode, takeFromHash } from './location-token.ts'
import type { LoginResult, LoginService } from './login-result.ts'

const NO_LOGIN: Promise<string | null> = /* @__PURE__ */ Promise.resolve(null)

/** The login that the page was opened with. */
export class PageLogin {
  /** Its token, or why it has failed: kept until somebody logs in, since it is no longer in the URL then. */
  #token = NO_LOGIN
  /** What the server has answered to the code in the URL. */
  #codeResult: LoginResult | null = null

  /**
   * Resolves to the token in the hash of a URL, or that for a code there; `null` for none.
   * @throws {NotAuthenticated} there is an error, or the code is refused; with the name `OauthError`
   * @throws {GeneralError} the server answers to the code without a token
   */
  async read(
    location: LocationWithHash,
    { locationKey, locationErrorKey }: AuthenticationClientOptions,
    service: LoginService,
  ): Promise<string | null> {
    const [accessToken] = takeFromHash(location, locationKey)
    if (accessToken) return accessToken
    const [message] = takeFromHash(location, locationErrorKey)
    if (message !== undefined) throw createLocationError(message)
    const result = await exchangeCode(location, service)
    if (result === null) return null
    this.#codeResult = result
    if (isNonEmptyString(result.accessToken)) return result.accessToken
    throw new GeneralError('The server has answered a login without an access token')
  }

  /** Keeps the token that was read, if there was one. Resolves when all reading is done. */
  async remember(reading: Promise<string | null>): Promise<void> {
    const before = this.#token
    this.#token = reading.then((accessToken) => accessToken ?? before)
    // Exchanging a code takes a request: concurrent callers wait for the same token.
    await Promise.allSettled([before, this.#token])
  }

  /** Resolves to the token, once; `null` for none. Rejects with why the login has failed. */
  take(): Promise<string | null> {
    const token = this.#token
    this.#token = NO_LOGIN
    return token
  }

  /** Returns what the server has answered to the code with this token, `null` for nothing. */
  findResult(accessToken: string): LoginResult | null {
    return this.#codeResult?.accessToken === accessToken ? this.#codeResult : null
  }
}
