import type {
  Application,
  AuthenticationRequest,
  Headers,
  HookContext,
  NullableId,
  Query,
} from '../core/index.ts'
import type { OptionRule } from '../core/options/option-check.ts'
import type { JSONSchema } from '../core/services/service-schemas.ts'
import type { AuthenticationParams } from './authentication-params.ts'
import type { AuthenticationConfiguration } from './settings/authentication-config.ts'
import type { LoginThrottle } from './throttle/login-throttle.ts'
import type { AccessTokenPayload } from './tokens/token-claims.ts'
import type { NewTokenOptions, TokenOptions } from './tokens/token-options.ts'
import type { RevocationList } from './tokens/token-revocation.ts'

/** What strategies see of an HTTP request. */
export interface AuthenticationHttpRequest {
  /** With lower-case names, as Node gives them. */
  readonly headers: Headers
  /** The parsed query string. */
  readonly query?: Query | undefined
  /** `GET`, `POST` and so on. */
  readonly method?: string | undefined
  /** The whole URL that the client has called. */
  readonly url?: string | undefined
}

/** What a strategy proves: `{ authentication: { strategy }, user }`, with a token perhaps. */
export interface AuthenticationResult {
  /** Where there is one, `create` makes no other. */
  accessToken?: string
  /** How the identity was proven: the name of the strategy, the claims of a token. */
  authentication?: { strategy?: string; payload?: unknown; [key: string]: unknown }
  [entityOrOther: string]: unknown
}

/** The events of a connection that strategies are told of. */
export type ConnectionEvent = 'login' | 'logout' | 'disconnect'

/**
 * A way to prove identity, registered under a name. Everything but `authenticate` may be missing.
 */
export interface AuthenticationStrategy {
  /** Takes the name that the strategy is registered under. */
  setName?(name: string): void
  /** Takes the application of the authentication service. */
  setApplication?(app: Application): void
  /** Takes the authentication service that the strategy is registered at. */
  setAuthentication?(service: Authentication): void
  /** @throws {TypeError} the settings of the strategy are not valid */
  verifyConfiguration?(): void
  /** Called when the authentication service is set up. */
  setup?(service: Authentication, name: string): unknown
  /**
   * Returns who is behind a request.
   * @throws {NotAuthenticated} the request proves nothing
   */
  authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): AuthenticationResult | Promise<AuthenticationResult>
  /**
   * How an HTTP request proves who sends it, as a security scheme of OpenAPI:
   * `{ type: 'apiKey', in: 'header', name: 'X-API-Key' }`. Without one, documents say that there is
   * a proof, and not how to give it.
   */
  readonly securityScheme?: Readonly<Record<string, unknown>>
  /**
   * Runs a proof of a caller outside within the limits for guesses, where there are some. The login
   * and the hooks call it around `authenticate`.
   * @param params those of the caller
   * @param prove takes params that `authenticate` is to get as well
   */
  limitGuesses?<T>(
    request: AuthenticationRequest,
    params: AuthenticationParams,
    prove: (added?: AuthenticationParams) => Promise<T>,
  ): Promise<T>
  /**
   * Returns what `authenticate` needs of an HTTP request, `null` when there is nothing for this
   * strategy. Nothing is verified here.
   */
  parse?(
    request: AuthenticationHttpRequest,
    reply?: unknown,
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null>
  /** Called when a real-time connection logs in or out, or is gone. */
  handleConnection?(
    event: ConnectionEvent,
    connection: Record<string, unknown>,
    result?: AuthenticationResult,
  ): unknown
}

/** A login that a strategy has proven, before it has tokens. */
export interface ProvenLogin {
  readonly result: AuthenticationResult
  /** Additional claims for its token. */
  readonly payload: object
  readonly tokenOptions: TokenOptions
  readonly params: AuthenticationParams
}

/** What an extension adds to the description of logins in the OpenAPI document. */
export interface LoginDescription {
  /** Additional fields that a login may send. */
  readonly data?: Readonly<Record<string, JSONSchema>>
  /** Additional fields of the result of a login; `null` removes a token from it. */
  readonly result?: Readonly<Record<string, JSONSchema | null>>
  /** Other ways to prove who calls, as security schemes of OpenAPI. */
  readonly schemes?: readonly {
    readonly name: string
    readonly scheme: Readonly<Record<string, unknown>>
    /** The strategy that accepts the same proof; `null` for a logout only. */
    readonly strategy: string | null
  }[]
}

/**
 * Adds to the logins of an authentication service. The list in `login-extensions.ts` names all extensions. Without the
 * setting of an extension, only `check`, `guard` and `endAll` are called.
 */
export interface LoginExtension {
  /** The key of its setting. */
  readonly setting: string
  /** What its setting may be. */
  readonly rule: OptionRule
  /** Strategies that a login may name in addition to `authStrategies`. */
  readonly strategies?: readonly string[]
  /**
   * Checks its setting whenever settings take effect.
   * @param isRunning whether the authentication service is set up
   * @throws {TypeError} the setting is not valid
   */
  check(isRunning: boolean): void
  /** Adds its hooks to the services that are registered, synchronously: no call may come before them. */
  guard(): void
  /** Called when the authentication service is set up. */
  setup?(): Promise<unknown>
  /** Resolves to the params that the strategy of a login gets. */
  begin?(params: AuthenticationParams): Promise<AuthenticationParams>
  /** Resolves to the result of a login with its tokens. Without it, a login has an access token only. */
  issue?(login: ProvenLogin): Promise<AuthenticationResult>
  /** Reads a request that no strategy has read. @param strategies those that may read it */
  parse?(
    request: AuthenticationHttpRequest,
    strategies: readonly string[],
  ): AuthenticationRequest | null
  /**
   * Checks the claims of a valid access token. Returns `undefined` if there is nothing to wait for.
   * @throws {NotAuthenticated} the login has ended
   */
  verify?(claims: AccessTokenPayload): Promise<void> | undefined
  /**
   * Returns whether a logout may name an id that is not the access token.
   * @throws {BadRequest} the query of the logout is not valid
   */
  isLogoutId?(id: NullableId, params: AuthenticationParams): boolean
  /** Ends a login. @param revoke revokes its access token */
  end?(
    id: NullableId,
    params: AuthenticationParams,
    result: AuthenticationResult,
    revoke: () => Promise<void>,
  ): Promise<void>
  /** Ends the logins of a user, except one. @throws {TypeError} no user, or the setting is missing */
  endAll?(userId: unknown, keep: string | undefined): Promise<void>
  /** Returns what the log says of a call that is neither a login nor a logout; `null` for others. */
  toLogEntry?(
    context: HookContext,
    result: AuthenticationResult,
  ): { readonly event: string; readonly message: string } | null
  /** Describes its part of logins. */
  describe?(): LoginDescription
}

/** What strategies, hooks and transports know of the authentication service. */
export interface Authentication {
  readonly app: Application
  /** The key of the setting with the configuration. */
  readonly configKey: string
  /**
   * The configuration with its defaults, as a frozen copy. After `setup` the setting itself is
   * frozen too: replace it with `app.set()` to change something, keys for example. A new setting
   * that is not valid is logged, and the last valid one stays in effect.
   */
  readonly configuration: AuthenticationConfiguration
  /** The names of the registered strategies. */
  readonly strategyNames: string[]
  /** The names of the strategies that read HTTP requests. */
  readonly parseStrategies: readonly string[]
  /** The limits for failing logins, `null` when they are switched off. */
  readonly loginThrottle: LoginThrottle | null
  /** Where logouts are noted, `null` when they are not. */
  readonly revocationList: RevocationList | null
  /** What adds to its logins by the settings in effect. */
  readonly loginExtensions?: readonly LoginExtension[]

  /** Registers a strategy under a name. */
  register(name: string, strategy: AuthenticationStrategy): this
  /** Returns a strategy by its name, `undefined` when there is none. */
  getStrategy(name: string): AuthenticationStrategy | undefined
  /** Returns strategies by their names, `undefined` in place of those that are not there. */
  getStrategies(...names: string[]): (AuthenticationStrategy | undefined)[]

  /** Returns a signed token with the claims of the payload and those that the options demand. */
  createAccessToken(payload: object, options?: NewTokenOptions, secret?: string): Promise<string>
  /**
   * Returns the claims of a token, frozen.
   * @throws {NotAuthenticated} it is malformed, forged, expired, revoked or for another service
   */
  verifyAccessToken(
    token: unknown,
    options?: TokenOptions,
    secret?: string,
  ): Promise<AccessTokenPayload>

  /**
   * Has the strategy that a request names prove who is behind it, within its limits for guesses.
   * @param allowed the names of the strategies that may
   * @throws {NotAuthenticated} no strategy, one that is not allowed, or one that refuses
   * @throws {TooManyRequests} too many guesses of callers outside have failed
   */
  authenticate(
    request: AuthenticationRequest | null | undefined,
    params: AuthenticationParams,
    ...allowed: string[]
  ): Promise<AuthenticationResult>
  /**
   * Returns what the first of the named strategies reads from an HTTP request, `null` when none
   * does. Nothing is verified. Where the strategies parse without waiting there is no promise.
   */
  parse(
    request: AuthenticationHttpRequest,
    reply: unknown,
    ...strategies: string[]
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null>
  /** Returns further claims for the token of a login: those of `params.payload`. */
  getPayload(
    result: AuthenticationResult,
    params: AuthenticationParams,
  ): Promise<Record<string, unknown>>
  /**
   * Returns the options for the token of a login: those of the params, with the id of the entity as
   * subject.
   * @throws {NotAuthenticated} there is no entity, or it has no id
   */
  getTokenOptions(result: AuthenticationResult, params: AuthenticationParams): Promise<TokenOptions>

  /** Tells every strategy that a real-time connection logs in or out, or is gone. */
  handleConnection(
    event: ConnectionEvent,
    connection: Record<string, unknown>,
    result?: AuthenticationResult,
  ): Promise<void>

  /**
   * Logs in: returns `{ accessToken, authentication: { strategy, payload }, user }`.
   * @throws {NotAuthenticated} the strategy is not allowed, or refuses
   */
  create(data: AuthenticationRequest, params?: AuthenticationParams): Promise<AuthenticationResult>
  /**
   * Logs out: proves once more who is behind the call, and revokes the token where the setting
   * `revocation` asks for it.
   * @param id `null`, or the access token of the call
   */
  remove(id: NullableId, params?: AuthenticationParams): Promise<AuthenticationResult>
}
