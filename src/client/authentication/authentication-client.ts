import type { AnyApplication } from '../../core/app.ts'
import { GeneralError } from '../../core/errors/index.ts'
import type { Given } from '../../core/options/option-rules.ts'
import type { AnyService } from '../../core/services/service-map.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { ClientParams } from '../remote-services.ts'
import { mergeHeaders } from '../requests/request-headers.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import { resolveClientOptions } from './client-options.ts'
import { CookieLogin } from './cookie-login.ts'
import type { KeptLogin } from './kept-login.ts'
import { TokenLogin } from './kept-login.ts'
import type { LocationWithHash } from './location-token.ts'
import { findLocation, PageLogin } from './location-token.ts'
import type { LoginData, LoginResult, LoginService } from './login-result.ts'
import type { LoginAttempt } from './login-state.ts'
import { LoginState, toClaims } from './login-state.ts'
import { followOtherTabs, readClaims } from './other-tabs.ts'
import { ServerLogout } from './server-logout.ts'
import { SessionRefresh } from './session-refresh.ts'
import { authorizeServices, CallAuthorizer } from './token-renewal.ts'
import type { TokenStorage } from './token-storage.ts'
import { isTokenStorage, OrderedStorage } from './token-storage.ts'

/**
 * Logs in and out, and sends the token of the login with every call to the server of the
 * authentication service.
 */
export class AuthenticationClient {
  /** The application whose calls are authenticated. */
  readonly app: AnyApplication
  /** The options, with their defaults. */
  readonly options: AuthenticationClientOptions
  readonly #state: LoginState
  readonly #session: SessionRefresh
  readonly #logout: ServerLogout
  readonly #kept: KeptLogin
  readonly #pageLogin = new PageLogin()
  /** The token that was stored last, perhaps by a login that is not complete yet. */
  #written: string | undefined

  /** @throws {TypeError} an option is unknown or invalid, or is another storage than the setting */
  constructor(app: AnyApplication, options: Given<AuthenticationClientOptions> = {}) {
    this.app = app
    this.options = resolveClientOptions(options)
    const setting: unknown = app.get('storage')
    if (setting != null && options.storage !== undefined && setting !== options.storage) {
      throw new TypeError("The option 'storage' and the setting 'storage' are two storages")
    }
    const storage = setting ?? this.options.storage
    if (!isTokenStorage(storage)) throw new TypeError("The setting 'storage' is no token storage")
    const ordered = new OrderedStorage(storage)
    app.set('storage', ordered)
    app.set('authentication', null)
    const { cookie, storageKey } = this.options
    const call = (): LoginService => this.#call()
    this.#session = new SessionRefresh({ options: this.options, storage: ordered, call })
    this.#logout = new ServerLogout(this.#session, call)
    const Kept = cookie ? CookieLogin : TokenLogin
    this.#kept = new Kept({
      ...{ options: this.options, session: this.#session, logout: this.#logout, call },
      findLogin: () => this.#state.login,
      findToken: () => this.getAccessToken(),
      readToken: () => this.#readToken(),
      usePageToken: () => this.#usePageToken(),
      removeTokens: (tokens) => (tokens ? this.#removeOwn(tokens) : this.removeAccessToken()),
      tellEnd: (result) => void app.emit('logout', result),
    })
    this.#state = new LoginState({
      toKey: ({ accessToken, authentication }) =>
        accessToken ?? (cookie ? authentication?.payload?.['jti'] : undefined),
      keep: (result) => this.#keep(result),
      drop: (tokens) => this.#drop(tokens),
      publish: (result) => void app.set('authentication', result),
      announce: (result) => {
        app.emit('login', result)
        app.emit('authenticated', result)
      },
      expire: (error) => void app.emit('expired', error),
    })
    this.#authorizeCalls()
    followOtherTabs(storage, storageKey, (value) => this.#followTab(value))
  }

  /** The authentication service of the server. */
  get service(): AnyService {
    return this.app.service(this.options.path)
  }

  /** Where the token is kept; its methods return promises. */
  get storage(): TokenStorage {
    return this.app.get('storage')
  }

  /** Whether somebody is logged in. */
  get authenticated(): boolean {
    return this.#state.login !== undefined
  }

  /**
   * Resolves to the token in the hash of a URL, or that for a code there; `null` for none. What is
   * found is taken out of the hash.
   * @throws {NotAuthenticated} there is an error, or the code is refused; with the name `OauthError`
   * @throws {Unavailable} the server does not answer to the code
   * @throws {Timeout} it does not in time
   * @throws {GeneralError} the server answers to the code without a token
   */
  async getFromLocation(location: LocationWithHash): Promise<string | null> {
    return this.#pageLogin.read(location, this.options, this.#call())
  }

  /**
   * Keeps a token in the storage, for {@link reAuthenticate}.
   * @throws {GeneralError} the storage failed
   * @throws {TypeError} the server keeps tokens in cookies
   */
  async setAccessToken(accessToken: string): Promise<void> {
    if (this.options.cookie) {
      throw new TypeError("A client with the option 'cookie' keeps no access token")
    }
    this.#written = accessToken
    await this.storage.setItem(this.options.storageKey, accessToken)
  }

  /**
   * Resolves to the token in the storage, else to that of the page's URL, which moves into the
   * storage; `null` for none. It is taken out of the URL in any case. With the option `cookie` it resolves to the
   * token of the present login, `null` where that is in a cookie.
   * @throws {GeneralError} the storage failed
   * @throws what {@link getFromLocation} does, where the storage has no token
   */
  async getAccessToken(): Promise<string | null> {
    if (this.options.cookie) return this.#state.login?.result.accessToken ?? null
    const location = findLocation()
    if (location !== undefined) await this.#pageLogin.remember(this.getFromLocation(location))
    // The second reading: another caller may have moved the token of the page into the storage.
    return (await this.#readToken()) ?? (await this.#usePageToken()) ?? this.#readToken()
  }

  /**
   * Removes the access token from the storage, and the refresh token with it. If tokens are given, it does so only
   * where the stored access token is one of them.
   * @throws {GeneralError} the storage failed
   */
  async removeAccessToken(tokens?: ReadonlySet<string>): Promise<void> {
    const { cookie, storageKey } = this.options
    const storage: OrderedStorage = this.app.get('storage')
    if (await storage.removeItem(storageKey, cookie ? undefined : tokens))
      await this.#session.drop()
  }

  /** Forgets who is logged in, and leaves the token in the storage. */
  async reset(): Promise<null> {
    this.#state.end()
    return null
  }

  /**
   * Logs in: `authenticate({ strategy: 'local', email, password })`. Without data it is
   * {@link reAuthenticate}. Resolves to `{ accessToken, authentication, user }`.
   * @throws {NotAuthenticated} the server refuses, which ends the login that was there, unless that is in cookies;
   *   or a logout or a later login has taken the place of this one
   * @throws {GeneralError} the storage did not take the token: nobody is logged in by it
   */
  authenticate(data?: LoginData, params?: ClientParams): Promise<LoginResult> {
    if (!data) return this.reAuthenticate()
    const { accessToken } = data
    const attempt: LoginAttempt = {
      readToken: async () => (isNonEmptyString(accessToken) ? accessToken : undefined),
      send: () => this.#call().create(data, params),
    }
    if (!this.options.cookie) return this.#state.attempt(attempt)
    // The answer to a logout would remove the cookies of this login, that to a refresh replace them.
    const lock: LoginAttempt['lock'] = (work) => this.#session.lock(work)
    return this.#state.attempt({ ...attempt, lock, sparesLogin: true })
  }

  /**
   * Resolves to the result of the login that is there, or that goes on; without one, or with `force`,
   * logs in by the token that was kept, or renews the session of the login. It is also called shortly before the
   * token of a session expires, and where the server refuses the token of a call: override it to log in by something
   * else then.
   * @param strategy the name of the strategy. Default: the option `jwtStrategy`
   * @throws {NotAuthenticated} there is no token, or the server refuses it: it is not kept any longer
   */
  reAuthenticate(
    force: boolean = false,
    strategy?: string,
    params?: ClientParams,
  ): Promise<LoginResult> {
    const { jwtStrategy } = this.options
    const present: Promise<LoginResult> | null | undefined = this.app.get('authentication')
    // A listener hands its event on: `button.onclick = client.reAuthenticate`.
    if (present != null && force !== true) return present
    const attempt = this.#kept.createAttempt(strategy || jwtStrategy, params)
    const lock: LoginAttempt['lock'] = (work) => this.#session.lock(work)
    return this.#state.attempt({ ...attempt, isRenewal: true, lock })
  }

  /**
   * Ends the login: at once here, where the token is removed and logins that go on are ended, then on
   * the server. Resolves to the server's result; `null` if nobody was logged in, or the server knows
   * nothing of it.
   * @throws {Unavailable} the server was not told: the token is valid until it expires
   * @throws {GeneralError} the storage still has the token
   */
  async logout(): Promise<LoginResult | null> {
    const login = this.#state.end()
    this.#pageLogin.take().catch(() => undefined)
    return this.#kept.logOut(login)
  }

  async #usePageToken(): Promise<string | undefined> {
    const accessToken = await this.#pageLogin.take()
    if (accessToken === null) return undefined
    await this.setAccessToken(accessToken)
    const result = this.#pageLogin.findResult(accessToken)
    if (result !== null) await this.#session.keep(result)
    return accessToken
  }

  #call(): LoginService {
    return this.service as unknown as LoginService
  }

  async #readToken(): Promise<string | null> {
    const { cookie, storageKey } = this.options
    return cookie ? null : ((await this.storage.getItem(storageKey)) as string | null)
  }

  async #keep(result: LoginResult): Promise<void> {
    this.#pageLogin.take().catch((err: unknown) => {
      this.app.logger.warn({ err }, 'The login in the URL of the page has failed')
    })
    const { cookie, storageKey } = this.options
    if (!cookie) {
      await this.setAccessToken(result.accessToken)
    } else if (isNonEmptyString(result['refreshToken'])) {
      throw new GeneralError(
        "The server keeps no tokens in cookies: see its setting 'sessions.cookie'",
      )
    } else {
      // The browser tells other tabs of the new value.
      await this.storage.setItem(storageKey, String(result.authentication?.payload?.sub ?? ''))
    }
    await this.#session.keep(result)
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

  /** Removes only tokens of this client: the storage may hold that of another page by now, whose login goes on. */
  #removeOwn(tokens: Iterable<string>): Promise<void> {
    const own = new Set(tokens)
    if (this.#written !== undefined) own.add(this.#written)
    return this.removeAccessToken(own)
  }

  async #drop(tokens: ReadonlySet<string>): Promise<void> {
    try {
      await this.#removeOwn(tokens)
    } catch (error) {
      // The caller gets the refusal, which is the reason why the login has ended.
      this.app.logger.error({ err: error }, 'A token that the server refuses is still kept')
    }
  }

  #authorizeCalls(): void {
    const { cookie, header, scheme } = this.options
    const authorizer = new CallAuthorizer({
      state: this.#state,
      headerName: header.toLowerCase(),
      findService: () => this.service,
      findEndingToken: () => this.#logout.token,
      toHeader: (accessToken) =>
        accessToken === undefined
          ? {}
          : mergeHeaders({ [header]: `${scheme} ${accessToken}`.trim() }),
      isDue: ({ dueAt, result }) =>
        (cookie || isNonEmptyString(result['refreshToken'])) && performance.now() >= dueAt,
      readToken: () => this.#readToken(),
      renew: () => this.reAuthenticate(true),
    })
    authorizeServices(this.app, (call) => authorizer.send(call))
  }
}
