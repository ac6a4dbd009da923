import type { AnyApplication } from '../../core/app.ts'
import type { Given, OptionRule } from '../../core/options/option-rules.ts'
import { checkRules, STRING_OPTION, withDefaults } from '../../core/options/option-rules.ts'
import { stripSlashes } from '../../core/services/service-input.ts'
import type { AnyService } from '../../core/services/service-map.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { ClientParams } from '../remote-services.ts'
import { HEADER_NAME, mergeHeaders } from '../requests/request-headers.ts'
import type { LocationWithHash } from './location-token.ts'
import { createLocationError, exchangeCode, findLocation, takeFromHash } from './location-token.ts'
import type { LoginData, LoginResult, LoginService } from './login-state.ts'
import { isRefusal, LoginState, NoAccessToken } from './login-state.ts'
import { authorizeServices, CallAuthorizer } from './token-renewal.ts'
import type { TokenStorage } from './token-storage.ts'
import { isTokenStorage, MemoryStorage, OrderedStorage } from './token-storage.ts'

/** Options of an {@link AuthenticationClient}, with every default filled in. */
export interface AuthenticationClientOptions {
  /** The path of the authentication service. Default: `'/authentication'`. */
  readonly path: string
  /** Where the token is kept. Default: a {@link MemoryStorage} of this client. */
  readonly storage: TokenStorage
  /** The name by which the token is kept. Default: `'feathers-jwt'`. */
  readonly storageKey: string
  /** The header that the token is sent in. Default: `'Authorization'`. */
  readonly header: string
  /** What stands before the token in the header; `''` for nothing. Default: `'Bearer'`. */
  readonly scheme: string
  /** The name of the strategy that takes a token. Default: `'jwt'`. */
  readonly jwtStrategy: string
  /**
   * The name of a token in the hash of the page's URL. Default: `'access_token'`. Those of a code and
   * of its strategy are always `code` and `strategy`.
   */
  readonly locationKey: string
  /** The name of an error in the hash of the page's URL. Default: `'error'`. */
  readonly locationErrorKey: string
}

/** Rules for {@link AuthenticationClientOptions}. */
export const CLIENT_RULES: Readonly<Record<keyof AuthenticationClientOptions, OptionRule>> = {
  path: {
    expected: 'the path of a service',
    isValid: (value) => typeof value === 'string' && stripSlashes(value) !== '',
  },
  storage: {
    expected: 'an object with getItem, setItem and removeItem',
    isValid: isTokenStorage,
  },
  storageKey: STRING_OPTION,
  header: {
    expected: 'the name of a header',
    isValid: (value) => typeof value === 'string' && HEADER_NAME.test(value.toLowerCase()),
  },
  scheme: {
    expected: 'a string without blanks',
    isValid: (value) => typeof value === 'string' && /^[!-~]*$/.test(value),
  },
  jwtStrategy: STRING_OPTION,
  locationKey: STRING_OPTION,
  locationErrorKey: STRING_OPTION,
}

const NO_LOGIN: Promise<string | null> = /* @__PURE__ */ Promise.resolve(null)

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
  /** The last call that has ended a login on the server: the next one waits for it. */
  #lastLogout: Promise<unknown> = Promise.resolve()
  /** The token of the login that such a call ends right now. */
  #endingToken: string | undefined
  /**
   * The login that the page was opened with: its token, or why it has failed. Remembered until somebody
   * logs in, since it is no longer in the URL then.
   */
  #pageLogin = NO_LOGIN
  /** The token that was kept last, by a login that may not count yet. */
  #written: string | undefined

  /** @throws {TypeError} an option is unknown or invalid, or is another storage than the setting */
  constructor(app: AnyApplication, options: Given<AuthenticationClientOptions> = {}) {
    this.app = app
    checkRules('AuthenticationClient', options, CLIENT_RULES)
    this.options = withDefaults<AuthenticationClientOptions>(
      {
        path: '/authentication',
        // Clients that share a storage are logged in as the same user.
        storage: new MemoryStorage(),
        storageKey: 'feathers-jwt',
        header: 'Authorization',
        scheme: 'Bearer',
        jwtStrategy: 'jwt',
        locationKey: 'access_token',
        locationErrorKey: 'error',
      },
      options,
    )
    const setting: unknown = app.get('storage')
    if (setting != null && options.storage !== undefined && setting !== options.storage) {
      throw new TypeError("The option 'storage' and the setting 'storage' are two storages")
    }
    const storage = setting ?? this.options.storage
    if (!isTokenStorage(storage)) throw new TypeError("The setting 'storage' is no token storage")
    app.set('storage', new OrderedStorage(storage))
    app.set('authentication', null)
    this.#state = new LoginState({
      keep: (accessToken) => this.#keep(accessToken),
      drop: (tokens) => this.#drop(tokens),
      publish: (result) => void app.set('authentication', result),
      announce: (result) => {
        app.emit('login', result)
        app.emit('authenticated', result)
      },
    })
    this.#authorizeCalls()
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
    const { locationKey, locationErrorKey } = this.options
    const [accessToken] = takeFromHash(location, locationKey)
    if (accessToken) return accessToken
    const [message] = takeFromHash(location, locationErrorKey)
    if (message !== undefined) throw createLocationError(message)
    return exchangeCode(location, this.#call())
  }

  /**
   * Keeps a token in the storage, for {@link reAuthenticate}.
   * @throws {GeneralError} the storage failed
   */
  async setAccessToken(accessToken: string): Promise<void> {
    this.#written = accessToken
    await this.storage.setItem(this.options.storageKey, accessToken)
  }

  /**
   * Resolves to the token in the storage, else to that of the page's URL, which moves into the
   * storage; `null` for none. It is taken out of the URL in any case.
   * @throws {GeneralError} the storage failed
   * @throws what {@link getFromLocation} does, where the storage has no token
   */
  async getAccessToken(): Promise<string | null> {
    const location = findLocation()
    if (location !== undefined) await this.#rememberPageLogin(location)
    // The second reading: another caller may have moved the token of the page into the storage.
    return (await this.#readToken()) ?? (await this.#usePageToken()) ?? this.#readToken()
  }

  /**
   * Removes the token from the storage; if tokens are given, only if it is one of them.
   * @throws {GeneralError} the storage failed
   */
  async removeAccessToken(tokens?: ReadonlySet<string>): Promise<void> {
    const storage: OrderedStorage = this.app.get('storage')
    await storage.removeItem(this.options.storageKey, tokens)
  }

  /** Forgets who is logged in, and leaves the token in the storage. */
  async reset(): Promise<null> {
    this.#state.end()
    return null
  }

  /**
   * Logs in: `authenticate({ strategy: 'local', email, password })`. Without data it is
   * {@link reAuthenticate}. Resolves to `{ accessToken, authentication, user }`.
   * @throws {NotAuthenticated} the server refuses, which ends the login that was there; or a logout or
   *   a later login has taken the place of this one
   * @throws {GeneralError} the storage did not take the token: nobody is logged in by it
   */
  authenticate(data?: LoginData, params?: ClientParams): Promise<LoginResult> {
    if (!data) return this.reAuthenticate()
    const { accessToken } = data
    return this.#state.attempt({
      readToken: async () => (isNonEmptyString(accessToken) ? accessToken : undefined),
      send: () => this.#call().create(data, params),
    })
  }

  /**
   * Resolves to the result of the login that is there, or that goes on; without one, or with `force`,
   * logs in by the token that was kept. It is called as well where the server refuses the token of
   * calls: override it to log in by something else then.
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
    return this.#state.attempt({
      readToken: async () => {
        const accessToken = await this.getAccessToken()
        if (accessToken === null) throw new NoAccessToken('No accessToken found in storage')
        return accessToken
      },
      readOtherToken: () => this.#usePageToken(),
      send: (accessToken) =>
        this.#call().create({ strategy: strategy || jwtStrategy, accessToken }, params),
    })
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
    this.#takePageLogin().catch(() => undefined)
    const reading = this.#readToken()
    const removing = login ? this.#removeOwn([login.accessToken]) : this.removeAccessToken()
    const [stored, removed] = await Promise.allSettled([reading, removing] as const)
    const kept = stored.status === 'fulfilled' ? stored.value : null
    const accessToken = login?.accessToken ?? kept
    let result: LoginResult | null = null
    try {
      if (accessToken !== null) result = await this.#endOnServer(accessToken)
    } finally {
      if (accessToken !== null) this.app.emit('logout', result)
    }
    if (removed.status === 'rejected') throw removed.reason
    if (accessToken === null && stored.status === 'rejected') throw stored.reason
    return result
  }

  /** Resolves to the server's result, `null` if it knows nothing of the login. */
  #endOnServer(accessToken: string): Promise<LoginResult | null> {
    const call = this.#lastLogout.then(async () => {
      this.#endingToken = accessToken
      try {
        return await this.#call().remove(null)
      } catch (error) {
        if (isRefusal(error)) return null
        throw error
      } finally {
        this.#endingToken = undefined
      }
    })
    // The caller gets the error; the next logout only waits for the end of this one.
    this.#lastLogout = call.catch(() => undefined)
    return call
  }

  async #rememberPageLogin(location: LocationWithHash): Promise<void> {
    const before = this.#pageLogin
    const reading = this.getFromLocation(location)
    this.#pageLogin = reading.then((accessToken) => accessToken ?? before)
    // A code takes a request: who asks meanwhile waits for the token as well.
    await Promise.allSettled([before, this.#pageLogin])
  }

  #takePageLogin(): Promise<string | null> {
    const login = this.#pageLogin
    this.#pageLogin = NO_LOGIN
    return login
  }

  async #usePageToken(): Promise<string | undefined> {
    const accessToken = await this.#takePageLogin()
    if (accessToken === null) return undefined
    await this.setAccessToken(accessToken)
    return accessToken
  }

  #call(): LoginService {
    return this.service as unknown as LoginService
  }

  async #readToken(): Promise<string | null> {
    const { storageKey } = this.options
    return (await this.storage.getItem(storageKey)) as string | null
  }

  async #keep(accessToken: string): Promise<void> {
    this.#takePageLogin().catch((err: unknown) => {
      this.app.logger.warn({ err }, 'The login in the URL of the page has failed')
    })
    await this.setAccessToken(accessToken)
  }

  /** The storage may hold the token of another page by now, whose login goes on. */
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
    const { header, scheme } = this.options
    const authorizer = new CallAuthorizer({
      state: this.#state,
      headerName: header.toLowerCase(),
      findService: () => this.service,
      findEndingToken: () => this.#endingToken,
      toHeader: (accessToken) => mergeHeaders({ [header]: `${scheme} ${accessToken}`.trim() }),
      readToken: () => this.#readToken(),
      renew: () => this.reAuthenticate(true),
    })
    authorizeServices(this.app, (call) => authorizer.send(call))
  }
}
