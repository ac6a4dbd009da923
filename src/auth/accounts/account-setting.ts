import type { Application } from '../../core/index.ts'
import type { Authentication } from '../authentication.ts'
import { findAuthentication } from '../default-authentication.ts'
import type { Entity, EntityService } from '../entity-service.ts'
import { findEntityService, getEntityIdName, getFirstEntity } from '../entity-service.ts'
import { LocalStrategy } from '../strategies/local-strategy.ts'
import type { ResolvedAccountOptions } from './account-options.ts'

type ChangeableUsers = EntityService & Required<Pick<EntityService, 'patch'>>

/** The services, the strategy and the fields that accounts need, by the settings in effect. */
export interface AccountSetting {
  readonly authentication: Authentication
  readonly strategy: LocalStrategy
  /** The key of the user in params. */
  readonly entity: string
  /** The path of the service with the users. */
  readonly path: string
  readonly users: ChangeableUsers
  readonly idName: string
  readonly emailField: string
  readonly nameField: string
  readonly passwordField: string
}

/**
 * Returns an {@link AccountSetting}, looked up on each call: settings may change while the application runs.
 * @throws {TypeError} there is no authentication service with users and a local strategy
 */
export function findAccountSetting(
  app: Application,
  options: Pick<ResolvedAccountOptions, 'authentication' | 'strategy' | 'emailField'>,
): AccountSetting {
  const authentication = findAuthentication(app, options.authentication)
  if (authentication === null) {
    throw new TypeError('AccountService needs an authentication service')
  }
  const { configuration, configKey } = authentication
  const { entity, service: path = '' } = configuration
  const users = findEntityService(app, path)
  if (entity == null || users?.patch === undefined) {
    throw new TypeError(
      `AccountService needs a service of users with 'patch', by '${configKey}.service'`,
    )
  }
  const strategy = authentication.getStrategy(options.strategy)
  if (!(strategy instanceof LocalStrategy)) {
    throw new TypeError(
      `AccountService: '${options.strategy}' is not a LocalStrategy of '${configKey}'`,
    )
  }
  const { entityUsernameField: nameField, entityPasswordField: passwordField } =
    strategy.configuration
  return {
    ...{ authentication, strategy, entity, path, users: users as ChangeableUsers },
    ...{ emailField: options.emailField ?? nameField, nameField, passwordField },
    idName: getEntityIdName({ configuration, entityService: users }),
  }
}

/** Resolves to the user with an address, `null` if there is none. */
export async function findByEmail(
  { users, emailField }: AccountSetting,
  email: string,
): Promise<Entity | null> {
  return getFirstEntity(await users.find({ query: { [emailField]: email, $limit: 1 } }))
}
