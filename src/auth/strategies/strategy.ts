import type {
  Application,
  AuthenticationRequest,
  Headers,
  Params,
  Query,
} from '../../core/index.ts'
import type { AuthenticationService } from '../authentication-service.ts'
import type { EntityService } from '../entity-service.ts'
import { findEntityService } from '../entity-service.ts'
import { getSection } from '../settings/authentication-config.ts'
import type { TokenOptions } from '../tokens/token-options.ts'

/** What strategies see of an HTTP request. */
export interface AuthenticationHttpRequest {
  /** With lower-case names, as Node gives them. */
  readonly headers: Headers
  readonly query?: Query | undefined
}

/** What the authentication service and strategies read from params, beside the usual. */
export interface AuthenticationParams extends Params {
  /** The strategies that `create` accepts in this call. Default: `authStrategies` of the setting. */
  authStrategies?: readonly string[] | undefined
  /** Options for the token that `create` makes. */
  jwtOptions?: TokenOptions | undefined
  /** Options for verifying a token. */
  jwt?: TokenOptions | undefined
  /** Takes the place of the configured secret. */
  secret?: string | undefined
  /** The network address of the caller, for throttling and the log. */
  address?: string | undefined
  /** Whether a strategy has confirmed the caller. Trusted on internal calls only. */
  authenticated?: boolean | undefined
}

/**
 * Returns a copy of params for a call inside this process that needs no authentication. The fields
 * stand before the spread so that none has to be added after it, which would take ten times as long.
 */
export function toInternalParams(params: AuthenticationParams): AuthenticationParams {
  const copy: AuthenticationParams = {
    provider: undefined,
    authentication: undefined,
    authenticated: true,
    query: undefined,
    ...params,
  }
  copy.provider = undefined
  copy.authentication = undefined
  copy.authenticated = true
  return copy
}

/** What a strategy proves: `{ authentication: { strategy }, user }`, with a token perhaps. */
export interface AuthenticationResult {
  /** Where there is one, `create` makes no other. */
  accessToken?: string
  authentication?: { strategy?: string; payload?: unknown; [key: string]: unknown }
  [entityOrOther: string]: unknown
}

/** The events of a connection that strategies are told of. */
export type ConnectionEvent = 'login' | 'logout' | 'disconnect'

/** A way to prove identity, registered under a name. Everything but `authenticate` may be missing. */
export interface AuthenticationStrategy {
  setName?(name: string): void
  setApplication?(app: Application): void
  setAuthentication?(service: AuthenticationService): void
  /** Throws when the settings of the strategy are wrong. */
  verifyConfiguration?(): void
  setup?(service: AuthenticationService, name: string): unknown
  /**
   * Returns who is behind a request.
   * @throws {NotAuthenticated} the request proves nothing
   */
  authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): AuthenticationResult | Promise<AuthenticationResult>
  /**
   * Runs a proof of a caller outside within the limits for guesses, where there are some. The login
   * and the hooks call it around `authenticate`.
   * @param params those of the caller
   */
  limitGuesses?<T>(
    request: AuthenticationRequest,
    params: AuthenticationParams,
    prove: () => Promise<T>,
  ): Promise<T>
  /**
   * Returns what `authenticate` needs of an HTTP request, `null` when there is nothing for this
   * strategy. Nothing is verified here.
   */
  parse?(
    request: AuthenticationHttpRequest,
    reply?: unknown,
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null>
  handleConnection?(
    event: ConnectionEvent,
    connection: Record<string, unknown>,
    result?: AuthenticationResult,
  ): unknown
}

/** What own strategies begin with: their name, their section of the settings, the entity service. */
export abstract class AuthenticationBaseStrategy implements AuthenticationStrategy {
  #name: string | undefined
  #app: Application | undefined
  #authentication: AuthenticationService | undefined

  setName(name: string): void {
    this.#name = name
  }

  setApplication(app: Application): void {
    this.#app = app
  }

  setAuthentication(service: AuthenticationService): void {
    this.#authentication = service
  }

  /** The name that the strategy was registered under. */
  get name(): string {
    return checkRegistered(this.#name)
  }

  get app(): Application {
    return checkRegistered(this.#app)
  }

  /** The service that the strategy is registered at. */
  get authentication(): AuthenticationService {
    return checkRegistered(this.#authentication)
  }

  /** The section of the settings with the name of the strategy, frozen; `{}` when there is none. */
  get configuration(): Readonly<Record<string, unknown>> {
    return getSection(this.authentication.configuration, this.name)
  }

  /** The service with the entities, `null` where the configured one is not there. */
  get entityService(): EntityService | null {
    const path = this.configuration['service'] ?? this.authentication.configuration.service
    return findEntityService(this.app, path)
  }

  abstract authenticate(
    request: AuthenticationRequest,
    params: AuthenticationParams,
  ): AuthenticationResult | Promise<AuthenticationResult>
}

function checkRegistered<T>(value: T | undefined): T {
  if (value === undefined) {
    throw new Error(
      'The strategy is not registered: authenticationService.register(name, strategy)',
    )
  }
  return value
}
