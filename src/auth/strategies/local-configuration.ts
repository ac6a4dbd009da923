import type { OptionRules } from '../../core/option-check.ts'
import { OPTION } from '../../core/option-check.ts'
import type { PasswordOptions } from '../passwords/passwords.ts'
import type { AuthenticationConfiguration } from '../settings/authentication-config.ts'
import { ENTITY_RULES, getSection } from '../settings/authentication-config.ts'

/** The section of the local strategy, with what it takes from the settings of the service. */
export interface LocalConfiguration {
  /** The name of the entity in results and params, `null` for none. */
  readonly entity: string | null
  /** The name of the id of an entity. Default: the property `id` of the entity service. */
  readonly entityId: string | undefined
  /** The path of the entity service. */
  readonly service: string | undefined
  /** The path of the user name in the data of a login. */
  readonly usernameField: string
  /** The path of the password in the data of a login. */
  readonly passwordField: string
  /** The field of the entity with the user name. Default: `usernameField`. */
  readonly entityUsernameField: string
  /** The path of the hash in the entity. Default: `passwordField`. */
  readonly entityPasswordField: string
  /** What every failing login is told. Default: `'Invalid login'`. */
  readonly errorMessage: string
  /** Parameters for the hashes. */
  readonly scrypt: PasswordOptions
}

/** The rules for the section of the local strategy. */
export const LOCAL_RULES: OptionRules = {
  ...ENTITY_RULES,
  usernameField: OPTION.string,
  passwordField: OPTION.string,
  entityUsernameField: OPTION.string,
  entityPasswordField: OPTION.string,
  errorMessage: OPTION.string,
  scrypt: OPTION.object,
  /** An option of bcrypt, in the settings of those who come from Feathers: it has no effect. */
  hashSize: { expected: 'anything', isValid: () => true },
}

/** Returns the section of a local strategy with every default filled in. */
export function toLocalConfiguration(
  base: AuthenticationConfiguration,
  name: string,
): LocalConfiguration & Record<string, unknown> {
  const { entity = null, entityId, service } = base
  const section = getSection(base, name) as Partial<LocalConfiguration>
  const { usernameField = '', passwordField = '' } = section
  return {
    entity,
    entityId,
    service,
    usernameField,
    passwordField,
    entityUsernameField: usernameField,
    entityPasswordField: passwordField,
    errorMessage: 'Invalid login',
    scrypt: {},
    ...section,
  }
}
