import type { Application, AuthenticationRequest } from '../core/index.ts'
import type { AuthenticationService } from './authentication-service.ts'
import { createNotAuthenticated } from './not-authenticated.ts'
import type { AuthenticationConfiguration } from './settings/authentication-config.ts'
import { resolveAuthenticationConfig } from './settings/authentication-config.ts'
import { checkConfiguration } from './settings/configuration-check.ts'
import { PreparedSettings } from './settings/prepared-settings.ts'
import { freezeDeep, isSameSetting } from './settings/settings-merge.ts'
import type {
  AuthenticationHttpRequest,
  AuthenticationParams,
  AuthenticationResult,
  AuthenticationStrategy,
  ConnectionEvent,
} from './strategies/strategy.ts'
import { StrategyRegistry } from './strategies/strategy-registry.ts'
import { limitProof } from './throttle/guess-limits.ts'
import type { LoginThrottle } from './throttle/login-throttle.ts'
import type { AccessTokenPayload } from './tokens/token-claims.ts'
import { createTokenError } from './tokens/token-claims.ts'
import type { TokenOptions } from './tokens/token-options.ts'
import type { RevocationList } from './tokens/token-revocation.ts'

/** What every authentication service has: configuration, strategies and tokens. */
export abstract class AuthenticationBase {
  readonly app: Application
  /** The key of the setting with the configuration. */
  readonly configKey: string
  readonly #registry = new StrategyRegistry()
  /** The setting as it was looked at last, which may be one that was refused. */
  #setting: unknown
  #prepared: PreparedSettings | null = null
  #isReady = false

  constructor(app: Application, configKey: string, options: object) {
    this.app = app
    this.configKey = configKey
    app.set(configKey, resolveAuthenticationConfig(app.get(configKey), options))
  }

  /**
   * The configuration with its defaults, as a frozen copy. After `setup` the setting itself is frozen
   * too: replace it with `app.set()` to change something, keys for example. A setting that is wrong
   * is logged, and the last one that was right stays in effect.
   */
  get configuration(): AuthenticationConfiguration {
    return this.#prepare().configuration
  }

  /** The names of the registered strategies. */
  get strategyNames(): string[] {
    return this.#registry.names
  }

  /** The names of the strategies that read HTTP requests. */
  get parseStrategies(): readonly string[] {
    const { parseStrategies, authStrategies } = this.configuration
    return parseStrategies ?? authStrategies
  }

  /** The limits for failing logins, `null` when they are switched off. */
  get loginThrottle(): LoginThrottle | null {
    return this.#prepare().loginThrottle
  }

  /** Where logouts are noted, `null` when they are not. */
  get revocationList(): RevocationList | null {
    return this.#prepare().revocationList
  }

  /** Registers a strategy under a name. */
  register(name: string, strategy: AuthenticationStrategy): this {
    this.#registry.register(this as unknown as AuthenticationService, name, strategy)
    return this
  }

  /** Returns a strategy by its name, `undefined` when there is none. */
  getStrategy(name: string): AuthenticationStrategy | undefined {
    return this.#registry.get(name)
  }

  /** Returns strategies by their names, `undefined` in place of those that are not there. */
  getStrategies(...names: string[]): (AuthenticationStrategy | undefined)[] {
    return names.map((name) => this.getStrategy(name))
  }

  /** Returns a signed token with the claims of the payload and those that the options demand. */
  async createAccessToken(
    payload: object,
    options?: TokenOptions,
    secret?: string,
  ): Promise<string> {
    return this.#prepare().issuer.sign(payload, options, secret)
  }

  /**
   * Returns the claims of a token, frozen.
   * @throws {NotAuthenticated} it is malformed, forged, expired, revoked or for another service
   */
  async verifyAccessToken(
    token: unknown,
    options?: TokenOptions,
    secret?: string,
  ): Promise<AccessTokenPayload> {
    const { issuer, revocationList: list } = this.#prepare()
    const payload = issuer.verify(token, options, secret)
    // After the cache of verified tokens, so that a logout counts at once.
    if (list !== null && (await list.isRevoked(payload.jti))) {
      // The cause is for the log: who has got hold of it?
      const { jti, sub } = payload
      throw createTokenError('jwt was revoked', { jti, sub })
    }
    return payload
  }

  /**
   * Has the strategy that a request names prove who is behind it, within its limits for guesses.
   * @param allowed the names of the strategies that may
   * @throws {NotAuthenticated} no strategy, one that is not allowed, or one that refuses
   * @throws {TooManyRequests} too many guesses of callers outside were wrong
   */
  authenticate(
    request: AuthenticationRequest | null | undefined,
    params: AuthenticationParams,
    ...allowed: string[]
  ): Promise<AuthenticationResult> {
    const name: unknown = request?.strategy
    if (!request || !name) return refuse(' (no `strategy` set)')
    if (typeof name !== 'string' || !allowed.includes(name)) {
      return refuse(' (strategy not allowed in authStrategies)')
    }
    const strategy = this.getStrategy(name)
    if (strategy === undefined) return refuse('')
    const marked = params.authenticated === true ? params : toMarkedParams(params)
    // Not async, as every promise more is felt by every request with a token.
    const prove = (): Promise<AuthenticationResult> => {
      try {
        return Promise.resolve(strategy.authenticate(request, marked))
      } catch (error) {
        return Promise.reject(error)
      }
    }
    return limitProof(this, strategy, request, params, prove)
  }

  /**
   * Returns what the first of the named strategies reads from an HTTP request, `null` when none does.
   * Nothing is verified. Where the strategies parse without waiting there is no promise.
   */
  parse(
    request: AuthenticationHttpRequest,
    reply: unknown,
    ...strategies: string[]
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null> {
    return this.#registry.parse(request, reply, strategies)
  }

  /** Tells every strategy that a real-time connection logs in or out, or is gone. */
  async handleConnection(
    event: ConnectionEvent,
    connection: Record<string, unknown>,
    result?: AuthenticationResult,
  ): Promise<void> {
    for (const name of this.strategyNames) {
      await this.getStrategy(name)?.handleConnection?.(event, connection, result)
    }
  }

  /**
   * Checks and fixes the configuration, and sets the strategies up.
   * @throws {TypeError} a setting is missing or wrong; the text names it
   */
  async setup(): Promise<void> {
    this.#check(this.#prepare())
    this.app.set(this.configKey, freezeDeep(resolveAuthenticationConfig(this.#setting)))
    this.#isReady = true
    await this.#registry.setup(this as unknown as AuthenticationService)
  }

  #prepare(): PreparedSettings {
    const setting = this.app.get(this.configKey)
    const known = this.#prepared
    if (known !== null && this.#isReady && this.#setting === setting) return known
    this.#setting = setting
    const configuration = freezeDeep(resolveAuthenticationConfig(setting))
    // Until setup the setting may change in place, and what was made of it stays if it did not.
    if (known !== null && isSameSetting(configuration, known.configuration)) return known
    this.#prepared = new PreparedSettings(configuration, this.configKey, known)
    return this.#isReady && known !== null ? this.#replace(known, this.#prepared) : this.#prepared
  }

  /** Returns the new state if it is right, else the old one: a slip must not lock everybody out. */
  #replace(old: PreparedSettings, prepared: PreparedSettings): PreparedSettings {
    try {
      this.#check(prepared)
    } catch (error) {
      this.#prepared = old
      const message = 'A new setting is wrong: the old one stays in effect'
      this.app.logger.error({ err: error, setting: this.configKey }, message)
      return old
    }
    return prepared
  }

  /** @throws {TypeError} something is wrong with the configuration, which is in effect already */
  #check(prepared: PreparedSettings): void {
    checkConfiguration(this)
    this.#registry.verify()
    // Made now, so that what is wrong with their settings is told now.
    void [prepared.issuer, prepared.loginThrottle, prepared.revocationList]
  }
}

function refuse(reason: string): Promise<never> {
  const message = `Invalid authentication information${reason}`
  return Promise.reject(createNotAuthenticated(message))
}

/** The address of params of a transport may be on their prototype, which a copy would lose. */
function toMarkedParams(params: AuthenticationParams): AuthenticationParams {
  const { address } = params
  return { ...params, authenticated: true, ...(address === undefined ? {} : { address }) }
}
