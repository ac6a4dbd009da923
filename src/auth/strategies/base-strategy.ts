import type { Application, AuthenticationRequest } from '../../core/index.ts'
import type {
  Authentication,
  AuthenticationResult,
  AuthenticationStrategy,
} from '../authentication.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { EntityService } from '../entity-service.ts'
import { findEntityService } from '../entity-service.ts'
import { getSection } from '../settings/authentication-config.ts'

/** The base of custom strategies: provides their name, their section of the settings, and the entity service. */
export abstract class AuthenticationBaseStrategy implements AuthenticationStrategy {
  #name: string | undefined
  #app: Application | undefined
  #authentication: Authentication | undefined

  setName(name: string): void {
    this.#name = name
  }

  setApplication(app: Application): void {
    this.#app = app
  }

  setAuthentication(service: Authentication): void {
    this.#authentication = service
  }

  /** The name that the strategy was registered under. */
  get name(): string {
    return checkRegistered(this.#name)
  }

  /** The application of the authentication service. */
  get app(): Application {
    return checkRegistered(this.#app)
  }

  /** The service that the strategy is registered with. */
  get authentication(): Authentication {
    return checkRegistered(this.#authentication)
  }

  /** The section of the settings with the name of the strategy, frozen; `{}` if there is none. */
  get configuration(): Readonly<Record<string, unknown>> {
    return getSection(this.authentication.configuration, this.name)
  }

  /** The entity service, `null` if the configured one does not exist. */
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
