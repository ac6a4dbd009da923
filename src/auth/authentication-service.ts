import { InvalidToken, LoginMisconfigured } from '../core/errors/coded-errors.ts'
import { ArgumentError, RegistrationError } from '../core/errors/setup-errors.ts'
import type {
  AnyApplication,
  Application,
  AuthenticationRequest,
  NullableId,
} from '../core/index.ts'
import type {
  Authentication,
  AuthenticationHttpRequest,
  AuthenticationResult,
  AuthenticationStrategy,
  ConnectionEvent,
  LoginExtension,
} from './authentication.ts'
import type { AuthenticationParams } from './authentication-params.ts'
import { DEFAULT_SETTING, installDefaultAuthentication } from './default-authentication.ts'
import { getSubject } from './entity-service.ts'
import { installLoginHooks } from './hooks/login-events.ts'
import { emitLoginEnd } from './login-end.ts'
import { LOGIN_EXTENSIONS } from './login-extensions.ts'
import { parseProof, proveRequest } from './proof.ts'
import type { AuthenticationConfiguration } from './settings/authentication-config.ts'
import { checkConfiguration } from './settings/configuration-check.ts'
import { LiveSettings } from './settings/live-settings.ts'
import { mergeSettings } from './settings-values.ts'
import { AuthenticationBaseStrategy } from './strategies/base-strategy.ts'
import type { LoginThrottle } from './throttle/login-throttle.ts'
import { decodeClaims } from './tokens/access-token.ts'
import type { AccessTokenPayload } from './tokens/token-claims.ts'
import type { NewTokenOptions, TokenOptions } from './tokens/token-options.ts'
import type { RevocationList } from './tokens/token-revocation.ts'
import { checkRevoked, revokeToken } from './tokens/token-revocation.ts'

/**
 * The service that logs users in and out: `create` takes `{ strategy, ... }` and returns `{ accessToken,
 * authentication, user }`, `remove` ends a login. Strategies are registered by name. Subclasses may override each
 * method.
 */
export class AuthenticationService implements Authentication {
  /** The application that the service belongs to. */
  readonly app: Application
  readonly configKey: string
  // A map, as names come from requests: a plain object would have a strategy `constructor`.
  readonly #strategies = new Map<string, AuthenticationStrategy>()
  readonly #settings: LiveSettings
  readonly #extensions: readonly LoginExtension[]
  /** Whether the last set-up has failed. */
  #isBroken = false

  /**
   * Writes the defaults and the options into the setting.
   * @param configKey the key of the setting
   * @param options override the setting, key by key
   */
  constructor(app: AnyApplication, configKey: string = 'authentication', options: object = {}) {
    if (typeof app?.use !== 'function') {
      throw new ArgumentError(
        'An application instance has to be passed to the authentication service',
      )
    }
    this.app = app
    this.configKey = configKey
    this.#settings = new LiveSettings(app, configKey, options, {
      check: () => this.#checkSettings(),
      listExtensions: () => this.#extensions,
    })
    if (app.get(DEFAULT_SETTING) === undefined) app.set(DEFAULT_SETTING, configKey)
    installDefaultAuthentication(app)
    installLoginHooks(this)
    this.#extensions = LOGIN_EXTENSIONS.map((Extension) => new Extension(this))
    for (const extension of this.#extensions) extension.guard()
    // The set-up may have failed because the new service was missing.
    app.observe((change, _path, entry) => {
      if (change === 'added' && entry.service !== (this as object)) void this.#setUpAgain()
    })
    this.app.on('disconnect', (connection: Record<string, unknown>) =>
      this.handleConnection('disconnect', connection),
    )
  }

  get configuration(): AuthenticationConfiguration {
    return this.#settings.current.configuration
  }

  get strategyNames(): string[] {
    return [...this.#strategies.keys()]
  }

  get parseStrategies(): readonly string[] {
    const { parseStrategies, authStrategies } = this.configuration
    return parseStrategies ?? authStrategies
  }

  get loginThrottle(): LoginThrottle | null {
    return this.#settings.current.readThrottle()
  }

  get revocationList(): RevocationList | null {
    return this.#settings.current.revocationList
  }

  get loginExtensions(): readonly LoginExtension[] {
    return this.#settings.current.extensions
  }

  register(name: string, strategy: AuthenticationStrategy): this {
    if (typeof strategy?.authenticate !== 'function') {
      throw new RegistrationError(`The strategy '${name}' has no authenticate method`)
    }
    strategy.setName?.(name)
    strategy.setApplication?.(this.app)
    strategy.setAuthentication?.(this)
    strategy.verifyConfiguration?.()
    this.#strategies.set(name, strategy)
    // A strategy registered after the setup of the service is set up at once.
    if (this.#settings.isFrozen) {
      Promise.resolve()
        .then(() => strategy.setup?.(this, name))
        .catch((error: unknown) => {
          this.app.logger.error({ err: error, strategy: name }, 'The setup of a strategy failed')
        })
    }
    return this
  }

  getStrategy(name: string): AuthenticationStrategy | undefined {
    return this.#strategies.get(name)
  }

  getStrategies(...names: string[]): (AuthenticationStrategy | undefined)[] {
    return names.map((name) => this.getStrategy(name))
  }

  /**
   * Checks and freezes the settings and sets up the strategies.
   * @throws {TypeError} a setting is missing or invalid; the message names it
   */
  async setup(): Promise<void> {
    this.#isBroken = false
    for (const extension of this.#extensions) extension.guard()
    // Waits for the code that is running, which may still register services that the settings name.
    await null
    try {
      this.#settings.freeze()
      for (const extension of this.loginExtensions) await extension.setup?.()
      for (const [name, strategy] of this.#strategies) await strategy.setup?.(this, name)
    } catch (error) {
      this.#isBroken = true
      throw error
    }
  }

  /** Repeats a set-up that failed while the application was running. Logs the error if it fails again. */
  async #setUpAgain(): Promise<void> {
    const entries = [...this.app.entries.values()]
    if (!this.#isBroken || entries.every(({ service }) => service !== (this as object))) return
    try {
      await this.setup()
    } catch (error) {
      const details = { err: error, setting: this.configKey }
      this.app.logger.error(details, 'The setup of a service failed')
    }
  }

  async createAccessToken(
    payload: object,
    options?: NewTokenOptions,
    secret?: string,
  ): Promise<string> {
    return this.#settings.current.readIssuer().sign(payload, options, secret)
  }

  async verifyAccessToken(
    token: unknown,
    options?: TokenOptions,
    secret?: string,
  ): Promise<AccessTokenPayload> {
    const { readIssuer, revocationList, extensions } = this.#settings.current
    const payload = readIssuer().verify(token, options, secret)
    // Not cached by the issuer, so that a logout takes effect at once.
    if (revocationList !== null) await checkRevoked(revocationList, payload)
    for (const extension of extensions) {
      const pending = extension.verify?.(payload)
      if (pending !== undefined) await pending
    }
    return payload
  }

  authenticate(
    request: AuthenticationRequest | null | undefined,
    params: AuthenticationParams,
    ...allowed: string[]
  ): Promise<AuthenticationResult> {
    return proveRequest(this, request, params, allowed)
  }

  parse(
    request: AuthenticationHttpRequest,
    reply: unknown,
    ...strategies: string[]
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null> {
    return parseProof(this, this.#strategies, strategies, request, reply)
  }

  async handleConnection(
    event: ConnectionEvent,
    connection: Record<string, unknown>,
    result?: AuthenticationResult,
  ): Promise<void> {
    for (const name of this.strategyNames) {
      await this.getStrategy(name)?.handleConnection?.(event, connection, result)
    }
  }

  async getPayload(
    _result: AuthenticationResult,
    params: AuthenticationParams,
  ): Promise<Record<string, unknown>> {
    return params.payload ?? {}
  }

  async getTokenOptions(
    result: AuthenticationResult,
    params: AuthenticationParams,
  ): Promise<TokenOptions> {
    const options: TokenOptions = mergeSettings(params.jwtOptions, params.jwt)
    if (options.subject !== undefined) return options
    const subject = getSubject(this, result)
    return subject === undefined ? options : { ...options, subject }
  }

  async create(
    data: AuthenticationRequest,
    params: AuthenticationParams = {},
  ): Promise<AuthenticationResult> {
    if (this.#isBroken) await this.#setUpAgain()
    const extensions = this.loginExtensions
    let login = params
    for (const extension of extensions) login = (await extension.begin?.(login)) ?? login
    const allowed = params.authStrategies ?? [
      ...this.configuration.authStrategies,
      ...extensions.flatMap(({ strategies = [] }) => strategies),
    ]
    if (allowed.length === 0) {
      throw new LoginMisconfigured(
        'No authentication strategies allowed for creating a JWT (`authStrategies`)',
      )
    }
    const result = await this.authenticate(data, login, ...allowed)
    if (result.accessToken) return result
    const payload = await this.getPayload(result, params)
    const tokenOptions = await this.getTokenOptions(result, params)
    for (const extension of extensions) {
      if (extension.issue === undefined) continue
      return extension.issue({ result, payload, tokenOptions, params: login })
    }
    const accessToken = await this.createAccessToken(payload, tokenOptions, params.secret)
    const authentication = { ...result.authentication, payload: decodeClaims(accessToken) }
    return { accessToken, ...result, authentication }
  }

  async remove(id: NullableId, params: AuthenticationParams = {}): Promise<AuthenticationResult> {
    const { authentication } = params
    const isKnown = this.loginExtensions.some((one) => one.isLogoutId?.(id, params) === true)
    if (id != null && !isKnown && id !== authentication?.['accessToken']) {
      throw new InvalidToken('Invalid access token')
    }
    const allowed = this.configuration.authStrategies
    const result = await this.authenticate(authentication, params, ...allowed)
    let end = (): Promise<void> => this.#revoke(result.accessToken, params)
    for (const extension of this.loginExtensions) {
      const revoke = end
      end = () => extension.end?.(id, params, result, revoke) ?? revoke()
    }
    await end()
    return result
  }

  async #revoke(token: string | undefined, params: AuthenticationParams): Promise<void> {
    const list = this.revocationList
    if (list === null || token === undefined) return
    const payload = await this.verifyAccessToken(token, params.jwt, params.secret)
    await revokeToken(list, payload, this.configuration.jwtOptions, params.jwt)
    emitLoginEnd(this.app, { jti: payload.jti })
  }

  /**
   * Ends the sessions of a user, except `keep` if given.
   * @param userId the claim `sub` of the user's access tokens: the id as a string
   * @throws {TypeError} the setting has no `sessions`
   */
  async endSessions(userId: unknown, { keep }: { readonly keep?: string } = {}): Promise<void> {
    for (const extension of this.#extensions) await extension.endAll?.(userId, keep)
  }

  /** @throws {TypeError} the settings in effect are invalid */
  #checkSettings(): void {
    // Strategies that do not extend a class of this package may define the same names differently.
    const own = [...this.#strategies].filter(([, one]) => one instanceof AuthenticationBaseStrategy)
    const names = own.map(([name]) => name)
    checkConfiguration(this, names, this.#extensions)
    for (const extension of this.#extensions) extension.check(this.#settings.isFrozen)
    for (const strategy of this.#strategies.values()) strategy.verifyConfiguration?.()
    for (const extension of this.#extensions) extension.guard()
  }
}
