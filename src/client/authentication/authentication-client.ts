import type { AnyApplication } from '../../core/app.ts'
import { InvalidResponse } from '../../core/errors/coded-errors.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import type { Given } from '../../core/options/option-rules.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import type { AnyService } from '../../core/services/service-map.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { ClientParams } from '../remote-services.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import { resolveClientOptions } from './client-options.ts'
import type { LocationWithHash } from './location-token.ts'
import { findLocation, PageLogin } from './location-token.ts'
import { createCookieAttempt, createTokenAttempt } from './login-attempts.ts'
import type { LoginData, LoginResult, LoginService } from './login-result.ts'
import type { Login } from './login-state.ts'
import { LoginState, toClaims } from './login-state.ts'
import { followOtherTabs, isSameSession, lockTabs, readClaims } from './other-tabs.ts'
import { findRefreshToken, toRefreshEntry } from './session-refresh.ts'
import { CallAuthorizer } from './token-renewal.ts'
import type { TokenStorage } from './token-storage.ts'
import { isTokenStorage, OrderedStorage } from './token-storage.ts'

/** Logs in and out, and sends the token of the login with every call to the server of the authentication service. */
export class AuthenticationClient {
  /** The application whose calls are authenticated. */
  readonly app: AnyApplication
  /** The options, with their defaults. */
  readonly options: AuthenticationClientOptions
  readonly #state: LoginState
  readonly #authorizer: CallAuthorizer
  readonly #page = new PageLogin()
  /** With cookies, logins and logouts run one at a time: the browser keeps the cookies of the last response. */
  readonly #cookieTurns = new SerialQueue()
  /** The storage key of the refresh token. */
  readonly #refreshKey: string
  /** The last stored token, possibly of a login that is not complete yet. */
  #written: string | undefined

  /** @throws {TypeError} an option is unknown or invalid, or the storage differs from the setting */
  constructor(app: AnyApplication, options: Given<AuthenticationClientOptions> = {}) {
    this.app = app
    this.options = resolveClientOptions(options)
    const setting: unknown = app.get('storage')
    if (setting != null && options.storage !== undefined && setting !== options.storage) {
      throw new ArgumentError("The option 'storage' and the setting 'storage' are two storages")
    }
    const storage = setting ?? this.options.storage
    if (!isTokenStorage(storage))
      throw new ArgumentError("The setting 'storage' is no token storage")
    app.set('storage', new OrderedStorage(storage))
    app.set('authentication', null)
    const { cookie, storageKey } = this.options
    this.#refreshKey = `${storageKey}-refresh`
    this.#state = new LoginState(app, {
      toKey: ({ accessToken, authentication }) =>
        accessToken ?? (cookie ? authentication?.payload?.['jti'] : undefined),
      keep: (result) => this.#keep(result),
      drop: (tokens) => this.#removeOwn(tokens),
    })
    this.#authorizer = new CallAuthorizer(this, this.#state)
    followOtherTabs(storage, storageKey, (value) => this.#followTab(value))
  }

  /** The authentication service of the server. */
  get service(): AnyService {
    return this.app.service(this.options.path)
  }

  /** Stores the token; its methods return promises. */
  get storage(): TokenStorage {
    return this.app.get('storage')
  }

  /** Whether a user is logged in. */
  get authenticated(): boolean {
    return this.#state.login !== undefined
  }

  /**
   * Resolves to the token in the hash of a URL, or to the token for a code there; `null` if there is neither. Removes
   * both from the hash.
   * @throws {NotAuthenticated} the hash has an error, or the server rejects the code; the error's name is `OauthError`
   * @throws {Unavailable} the server does not respond to the code
   * @throws {Timeout} it does not respond in time
   * @throws {GeneralError} the response to the code has no token
   */
  async getFromLocation(location: LocationWithHash): Promise<string | null> {
    return this.#page.read(location, this.options, this.#call())
  }

  /**
   * Stores a token for {@link reAuthenticate}.
   * @throws {GeneralError} the storage failed
   * @throws {TypeError} the server keeps tokens in cookies
   */
  async setAccessToken(accessToken: string): Promise<void> {
    if (this.options.cookie) {
      throw new ArgumentError("A client with the option 'cookie' keeps no access token")
    }
    this.#written = accessToken
    await this.storage.setItem(this.options.storageKey, accessToken)
  }

  /**
   * Resolves to the token in the storage, otherwise to that in the page's URL, which moves into the storage; `null` if
   * there is none. The token is removed from the URL in any case. With the option `cookie` it resolves to the token of
   * the current login, `null` if that is in a cookie.
   * @throws {GeneralError} the storage failed
   * @throws like {@link getFromLocation} if the storage has no token
   */
  async getAccessToken(): Promise<string | null> {
    if (this.options.cookie) return this.#state.login?.result.accessToken ?? null
    const location = findLocation()
    if (location !== undefined) await this.#page.remember(this.getFromLocation(location))
    // Reads the storage again: another caller may have moved the token of the page there.
    const read = (): Promise<string | null> => this.#readItem(this.options.storageKey)
    return (await read()) ?? (await this.#usePageToken()) ?? read()
  }

  /**
   * Removes the access token and the refresh token from the storage. If tokens are given, only if the stored access
   * token is one of them.
   * @throws {GeneralError} the storage failed
   */
  async removeAccessToken(tokens?: ReadonlySet<string>): Promise<void> {
    const { cookie, storageKey } = this.options
    const storage: OrderedStorage = this.app.get('storage')
    if (await storage.removeItem(storageKey, cookie ? undefined : tokens)) {
      await storage.removeItem(this.#refreshKey)
    }
  }

  /** Forgets the login, but leaves the token in the storage. */
  async reset(): Promise<null> {
    this.#state.end()
    return null
  }

  /**
   * Logs in: `authenticate({ strategy: 'local', email, password })`. Without data it calls {@link reAuthenticate}.
   * Resolves to `{ accessToken, authentication, user }`.
   * @throws {NotAuthenticated} the server rejects the login, which ends the previous one unless that is in cookies; or
   *   a logout or a later login has replaced it
   * @throws {GeneralError} the storage failed to store the token: there is no login
   */
  authenticate(data?: LoginData, params?: ClientParams): Promise<LoginResult> {
    if (!data) return this.reAuthenticate()
    const { accessToken } = data
    return this.#state.attempt({
      readToken: async () => (isNonEmptyString(accessToken) ? accessToken : undefined),
      send: () => this.#call().create(data, params),
      // The response to a logout would remove the cookies of this login, that to a refresh would replace them.
      ...(this.options.cookie && { lock: this.#lock, sparesLogin: true }),
    })
  }

  /**
   * Resolves to the result of the current login, or of one that is running. Without one, or with `force`, logs in with
   * the stored token or renews the session. It is also called shortly before the token of a session expires, and when
   * the server rejects the token of a call: override it to log in by other means.
   * @param strategy the name of the strategy. Default: the option `jwtStrategy`
   * @throws {NotAuthenticated} there is no token, or the server rejects it, which removes it from the storage
   */
  reAuthenticate(
    force: boolean = false,
    strategy?: string,
    params?: ClientParams,
  ): Promise<LoginResult> {
    const present: Promise<LoginResult> | null | undefined = this.app.get('authentication')
    // Ignores an event passed by a listener: `button.onclick = client.reAuthenticate`.
    if (present != null && force !== true) return present
    const { cookie, jwtStrategy, locationErrorKey } = this.options
    const name = strategy || jwtStrategy
    const attempt = cookie
      ? createCookieAttempt(this.#call, locationErrorKey)
      : createTokenAttempt(this.#call, name, params, {
          readAccessToken: () => this.getAccessToken(),
          readPageToken: () => this.#usePageToken(),
          readRefreshToken: async (accessToken) => {
            if (name !== jwtStrategy) return undefined
            return findRefreshToken(await this.#readItem(this.#refreshKey), accessToken)
          },
        })
    return this.#state.attempt({ ...attempt, isRenewal: true, lock: this.#lock })
  }

  /**
   * Ends the login: at once in the client, where it removes the token and ends running logins, then on the server.
   * Resolves to the server's result; `null` if there was no login, or the server does not know it.
   * @throws {Unavailable} the server was not reached: the token stays valid until it expires
   * @throws {GeneralError} the token is still in the storage
   */
  async logout(): Promise<LoginResult | null> {
    const login = this.#state.end()
    this.#page.take().catch(() => undefined)
    return this.options.cookie ? this.#endCookies(login) : this.#endTokens(login)
  }

  async #endCookies(login: Login | undefined): Promise<LoginResult | null> {
    let result: LoginResult | null = null
    try {
      // The response to a running refresh sets cookies, so it must come first.
      result = await this.#lock(() => this.#authorizer.endLogin(login?.result.accessToken ?? null))
    } finally {
      // Other tabs react to this, and would log in again if the cookies still existed.
      await this.removeAccessToken()
      this.app.emit('logout', result)
    }
    return result
  }

  async #endTokens(login: Login | undefined): Promise<LoginResult | null> {
    const { storageKey } = this.options
    const reading = Promise.all([storageKey, this.#refreshKey].map((key) => this.#readItem(key)))
    const [stored] = await Promise.allSettled([reading])
    const [kept = null, entry = null] = stored.status === 'fulfilled' ? stored.value : []
    // Another tab may have renewed the session: its tokens would restore the login.
    const isNewer = login !== undefined && kept !== null && isSameSession(kept, login)
    const accessToken = isNewer ? kept : (login?.key ?? kept)
    const own = [login?.key, accessToken].filter((token) => token != null)
    const removing = login === undefined ? this.removeAccessToken() : this.#removeOwn(own)
    const [removed] = await Promise.allSettled([removing])
    let result: LoginResult | null = null
    try {
      if (accessToken !== null) {
        result = await this.#authorizer.endLogin(accessToken, findRefreshToken(entry, accessToken))
      }
    } finally {
      if (accessToken !== null) this.app.emit('logout', result)
    }
    if (removed.status === 'rejected') throw removed.reason
    if (accessToken === null && stored.status === 'rejected') throw stored.reason
    return result
  }

  readonly #call = (): LoginService => this.service as unknown as LoginService

  /**
   * Runs a login or logout while no other tab of the browser does, so that each finds the token that the previous one
   * stored.
   */
  readonly #lock = <T>(work: () => Promise<T>): Promise<T> => {
    const { cookie, path, storageKey } = this.options
    const run = cookie ? () => this.#cookieTurns.run(work) : work
    return lockTabs(`remex ${storageKey} ${path}`, run)
  }

  async #readItem(key: string): Promise<string | null> {
    return (await this.storage.getItem(key)) as string | null
  }

  async #usePageToken(): Promise<string | undefined> {
    const accessToken = await this.#page.take()
    if (accessToken === null) return undefined
    await this.setAccessToken(accessToken)
    await this.#keepRefreshToken(this.#page.findResult(accessToken))
    return accessToken
  }

  async #keep(result: LoginResult): Promise<void> {
    this.#page.take().catch((err: unknown) => {
      this.app.logger.warn({ err }, 'The login in the URL of the page has failed')
    })
    const { cookie, storageKey } = this.options
    if (!cookie) {
      await this.setAccessToken(result.accessToken)
    } else if (isNonEmptyString(result['refreshToken'])) {
      throw new InvalidResponse(
        "The server keeps no tokens in cookies: see its setting 'sessions.cookie'",
      )
    } else {
      // The browser notifies other tabs of the new value.
      await this.storage.setItem(storageKey, String(result.authentication?.payload?.sub ?? ''))
    }
    await this.#keepRefreshToken(result)
  }

  /** Stores the refresh token of a login, after its access token was stored. */
  async #keepRefreshToken(result: LoginResult | null): Promise<void> {
    // A login with an access token returns no refresh token, and the stored one is kept.
    const { accessToken, refreshToken }: Partial<LoginResult> = result ?? {}
    if (accessToken === undefined || !isNonEmptyString(refreshToken)) return
    await this.storage.setItem(this.#refreshKey, toRefreshEntry(accessToken, refreshToken))
  }

  /** Follows a login or logout in another tab of the browser. */
  #followTab(value: string | null): void {
    const { login } = this.#state
    if (value === null) {
      if (login === undefined) return
      this.#state.end()
      this.app.emit('logout', null)
      return
    }
    const subject = this.options.cookie ? value : readClaims(value)['sub']
    if (login !== undefined && subject === toClaims(login).sub) return
    this.reAuthenticate(true).catch((error: unknown) => {
      this.app.logger.warn({ err: error }, 'The login of another tab could not be followed')
    })
  }

  /** Removes only tokens of this client: the storage may meanwhile hold that of another page, whose login continues. */
  async #removeOwn(tokens: Iterable<string>): Promise<void> {
    const own = new Set(tokens)
    if (this.#written !== undefined) own.add(this.#written)
    await this.removeAccessToken(own)
  }
}
