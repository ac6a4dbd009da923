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

/** The part of an HTTP request that strategies see. */
export interface AuthenticationHttpRequest {
  /** Names are in lower case, as in Node. */
  readonly headers: Headers
  /** The parsed query string. */
  readonly query?: Query | undefined
  /** `GET`, `POST` and so on. */
  readonly method?: string | undefined
  /** The full URL that the client requested. */
  readonly url?: string | undefined
}

/** The result of a strategy: `{ authentication: { strategy }, user }`, and possibly a token. */
export interface AuthenticationResult {
  /** If a strategy returns one, `create` creates no other. */
  accessToken?: string
  /** How the identity was proven: for example the name of the strategy and the claims of a token. */
  authentication?: { strategy?: string; payload?: unknown; [key: string]: unknown }
  [entityOrOther: string]: unknown
}

/** The events of a connection that strategies receive. */
export type ConnectionEvent = 'login' | 'logout' | 'disconnect'

/** A way to prove identity, registered under a name. All methods except `authenticate` are optional. */
export interface AuthenticationStrategy {
  /** Receives the name that the strategy is registered under. */
  setName?(name: string): void
  /** Receives the application of the authentication service. */
  setApplication?(app: Application): void
  /** Receives the authentication service that the strategy is registered with. */
  setAuthentication?(service: Authentication): void
  /** @throws {TypeError} the settings of the strategy are invalid */
  verifyConfiguration?(): void
  /** Called when the authentication service is set up. */
  setup?(service: Authentication, name: string): unknown
  /**
   * Returns who sent a request.
   * @throws {NotAuthenticated} the request proves nothing
   */
  authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): AuthenticationResult | Promise<AuthenticationResult>
  /**
   * The OpenAPI security scheme of the strategy: `{ type: 'apiKey', in: 'header', name: 'X-API-Key' }`. Without one,
   * documents say that authentication is required, but not how to provide it.
   */
  readonly securityScheme?: Readonly<Record<string, unknown>>
  /**
   * Checks a proof of an external caller within the limits for guesses, if there are any. Logins and hooks call it
   * around `authenticate`.
   * @param params those of the caller
   * @param prove takes additional params for `authenticate`
   */
  limitGuesses?<T>(
    request: AuthenticationRequest,
    params: AuthenticationParams,
    prove: (added?: AuthenticationParams) => Promise<T>,
  ): Promise<T>
  /**
   * Returns what `authenticate` needs from an HTTP request, `null` if the request has nothing for this strategy.
   * Verifies nothing.
   */
  parse?(
    request: AuthenticationHttpRequest,
    reply?: unknown,
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null>
  /** Called when a real-time connection logs in, logs out or disconnects. */
  handleConnection?(
    event: ConnectionEvent,
    connection: Record<string, unknown>,
    result?: AuthenticationResult,
  ): unknown
}

/** A login that a strategy has proven, before tokens are created. */
export interface ProvenLogin {
  readonly result: AuthenticationResult
  /** Additional claims for its token. */
  readonly payload: object
  readonly tokenOptions: TokenOptions
  readonly params: AuthenticationParams
}

/** The part of an extension in the description of logins in the OpenAPI document. */
export interface LoginDescription {
  /** Additional fields that a login may send. */
  readonly data?: Readonly<Record<string, JSONSchema>>
  /** Additional fields of the result of a login; `null` removes a token from it. */
  readonly result?: Readonly<Record<string, JSONSchema | null>>
  /** Other ways to authenticate, as OpenAPI security schemes. */
  readonly schemes?: readonly {
    readonly name: string
    readonly scheme: Readonly<Record<string, unknown>>
    /** The strategy that accepts the same proof; `null` if only a logout does. */
    readonly strategy: string | null
  }[]
}

/**
 * Extends the logins of an authentication service. The list in `login-extensions.ts` names all extensions. Without the
 * setting of an extension, only `check`, `guard` and `endAll` are called.
 */
export interface LoginExtension {
  /** The key of its setting. */
  readonly setting: string
  /** The rule for its setting. */
  readonly rule: OptionRule
  /** Strategies that a login may name in addition to `authStrategies`. */
  readonly strategies?: readonly string[]
  /**
   * Checks its setting whenever settings take effect.
   * @param isRunning whether the authentication service is set up
   * @throws {TypeError} the setting is invalid
   */
  check(isRunning: boolean): void
  /** Adds its hooks to the registered services, synchronously: no call may come before them. */
  guard(): void
  /** Called when the authentication service is set up. */
  setup?(): Promise<unknown>
  /** Resolves to the params for the strategy of a login. */
  begin?(params: AuthenticationParams): Promise<AuthenticationParams>
  /** Resolves to the result of a login with its tokens. Without it, a login gets an access token only. */
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
   * Returns whether the id of a logout may be something other than the access token.
   * @throws {BadRequest} the query of the logout is invalid
   */
  isLogoutId?(id: NullableId, params: AuthenticationParams): boolean
  /** Ends a login. @param revoke revokes its access token */
  end?(
    id: NullableId,
    params: AuthenticationParams,
    result: AuthenticationResult,
    revoke: () => Promise<void>,
  ): Promise<void>
  /** Ends the logins of a user, except one. @throws {TypeError} there is no user, or the setting is missing */
  endAll?(userId: unknown, keep: string | undefined): Promise<void>
  /** Returns the log entry for a call that is neither a login nor a logout; `null` for other calls. */
  toLogEntry?(
    context: HookContext,
    result: AuthenticationResult,
  ): { readonly event: string; readonly message: string } | null
  /** Describes the part of logins that it adds. */
  describe?(): LoginDescription
}

/** The part of the authentication service that strategies, hooks and transports use. */
export interface Authentication {
  readonly app: Application
  /** The key of the setting with the configuration. */
  readonly configKey: string
  /**
   * The configuration with its defaults, as a frozen copy. After `setup` the setting itself is frozen too: replace it
   * with `app.set()` to change something, for example keys. An invalid new setting is logged, and the last valid one
   * stays in effect.
   */
  readonly configuration: AuthenticationConfiguration
  /** The names of the registered strategies. */
  readonly strategyNames: string[]
  /** The names of the strategies that read HTTP requests. */
  readonly parseStrategies: readonly string[]
  /** The limits on failed logins, `null` if they are switched off. */
  readonly loginThrottle: LoginThrottle | null
  /** The list of logouts, `null` if there is none. */
  readonly revocationList: RevocationList | null
  /** The login extensions under the settings in effect. */
  readonly loginExtensions?: readonly LoginExtension[]

  /** Registers a strategy under a name. */
  register(name: string, strategy: AuthenticationStrategy): this
  /** Returns a strategy by its name, `undefined` if there is none. */
  getStrategy(name: string): AuthenticationStrategy | undefined
  /** Returns strategies by their names, with `undefined` for those that do not exist. */
  getStrategies(...names: string[]): (AuthenticationStrategy | undefined)[]

  /** Returns a signed token with the claims of the payload and those that the options require. */
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
   * Authenticates a request with the strategy that it names, within the limits for guesses.
   * @param allowed the names of the strategies that may authenticate it
   * @throws {NotAuthenticated} the request names no strategy or one that is not allowed, or the strategy rejects it
   * @throws {TooManyRequests} too many guesses of external callers have failed
   */
  authenticate(
    request: AuthenticationRequest | null | undefined,
    params: AuthenticationParams,
    ...allowed: string[]
  ): Promise<AuthenticationResult>
  /**
   * Returns what the first of the named strategies reads from an HTTP request, `null` if none reads anything. Verifies
   * nothing. Returns no promise if the strategies parse synchronously.
   */
  parse(
    request: AuthenticationHttpRequest,
    reply: unknown,
    ...strategies: string[]
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null>
  /** Returns additional claims for the token of a login: those of `params.payload`. */
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

  /** Notifies every strategy that a real-time connection has logged in, logged out or disconnected. */
  handleConnection(
    event: ConnectionEvent,
    connection: Record<string, unknown>,
    result?: AuthenticationResult,
  ): Promise<void>

  /**
   * Logs in and returns `{ accessToken, authentication: { strategy, payload }, user }`.
   * @throws {NotAuthenticated} the strategy is not allowed, or rejects the request
   */
  create(data: AuthenticationRequest, params?: AuthenticationParams): Promise<AuthenticationResult>
  /**
   * Logs out: authenticates the caller again, and revokes the token if the setting `revocation` asks for it.
   * @param id `null`, or the access token of the call
   */
  remove(id: NullableId, params?: AuthenticationParams): Promise<AuthenticationResult>
}
