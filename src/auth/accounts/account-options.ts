import { OptionError, SettingError } from '../../core/errors/setup-errors.ts'
import type { Application } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { Authentication } from '../authentication.ts'
import { findAuthentication } from '../default-authentication.ts'
import type { Entity, EntityService } from '../entity-service.ts'
import { findEntityService, getEntityIdName, getFirstEntity } from '../entity-service.ts'
import { hasMethods } from '../settings-values.ts'
import { LocalStrategy } from '../strategies/local-strategy.ts'
import { parseTimeSpan, TIME_SPAN } from '../tokens/token-options.ts'
import type { AccountTokenCollection } from './account-token.ts'

/** The content of an email to the user of an account. */
export type AccountNotice = AccountLink | AccountChange

/** Fields that all notices have. */
interface NoticeBase {
  /** The recipient. */
  readonly email: string
  /** The user as it is stored, without the password. */
  readonly user: Readonly<Record<string, unknown>>
}

/** An email with a link. The linked page calls a method of the service with the token. */
export interface AccountLink extends NoticeBase {
  /**
   * `verify`: the address of the account, by `verifyEmail()`. `reset`: a new password, by `resetPassword()`.
   * `change`: a new address of the account, by `verifyEmail()`.
   */
  readonly kind: 'verify' | 'reset' | 'change'
  /** Letters, digits, `-`, `_` and `.`, so it needs no encoding in URLs. */
  readonly token: string
}

/** An email about a change, so that the user notices a change by someone else. */
export interface AccountChange extends NoticeBase {
  /** `emailChanged` goes to the old address. */
  readonly kind: 'passwordChanged' | 'emailChanged'
  /** An email about a change has no link. */
  readonly token?: undefined
}

/** Options of an {@link AccountService}. */
export interface AccountOptions {
  /** Sends an email. Responses do not wait for it; errors are logged without the token. */
  readonly notify: (notice: AccountNotice) => unknown
  /** The collection that stores the hashes of tokens: `db.collection('accountTokens')`. */
  readonly tokens: AccountTokenCollection
  /** How long tokens live: seconds, or a string like `'30m'`. Default: `'1h'`. */
  readonly expiresIn?: number | string
  /** The path of the authentication service. Default: the default one. */
  readonly authentication?: string
  /** The name of the local strategy, which checks passwords. Default: `'local'`. */
  readonly strategy?: string
  /** The field of users with the email address. Default: the field in which the strategy looks up user names. */
  readonly emailField?: string
  /** The field of users that is `true` once the address is verified. Default: `'isVerified'`. */
  readonly verifiedField?: string
}

/** The options with their defaults, except those that need the authentication service. */
export interface ResolvedAccountOptions extends Omit<AccountOptions, 'expiresIn'> {
  readonly lifetimeMs: number
  readonly strategy: string
  readonly verifiedField: string
}

const REQUIRED = ['notify', 'tokens'] as const

const RULES: Readonly<Record<keyof AccountOptions, OptionRule>> = {
  notify: OPTION.function,
  tokens: {
    expected: "a collection, db.collection('accountTokens')",
    isValid: (value) => hasMethods(value, ['createIndex', 'updateOne', 'findOneAndDelete']),
  },
  expiresIn: TIME_SPAN,
  authentication: OPTION.string,
  strategy: OPTION.string,
  emailField: OPTION.string,
  verifiedField: OPTION.string,
}

/** @throws {TypeError} an option is unknown, invalid or missing */
export function resolveAccountOptions(given: AccountOptions): ResolvedAccountOptions {
  checkOptions('AccountService', given, RULES)
  const missing = REQUIRED.find((name) => given[name] === undefined)
  if (missing !== undefined) {
    throw new OptionError(`AccountService: the option '${missing}' is missing`)
  }
  const { expiresIn = '1h', strategy = 'local', verifiedField = 'isVerified', ...others } = given
  const seconds = parseTimeSpan(expiresIn, 'expiresIn')
  if (seconds < 1) {
    throw new OptionError(`AccountService: 'expiresIn' must be at least a second`)
  }
  return { ...others, strategy, verifiedField, lifetimeMs: seconds * 1000 }
}

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
    throw new SettingError('AccountService needs an authentication service')
  }
  const { configuration, configKey } = authentication
  const { entity, service: path = '' } = configuration
  const users = findEntityService(app, path)
  if (entity == null || users?.patch === undefined) {
    throw new SettingError(
      `AccountService needs a service of users with 'patch', by '${configKey}.service'`,
    )
  }
  const strategy = authentication.getStrategy(options.strategy)
  if (!(strategy instanceof LocalStrategy)) {
    throw new SettingError(
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
