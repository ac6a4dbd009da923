import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { PasswordOptions } from '../passwords/passwords.ts'
import { HASH_RULES } from '../passwords/passwords.ts'
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
  /** What makes new hashes: `'bcrypt'` is for packages that compare hashes by bcrypt themselves. */
  readonly hash: 'scrypt' | 'bcrypt'
  /** The cost of hashes by bcrypt, from 10 to 12; without effect on those by scrypt. Default: 10. */
  readonly hashSize?: number
  /** Parameters for hashes by scrypt, and how many hashes are computed at a time and may wait. */
  readonly scrypt: PasswordOptions
}

const RULES: OptionRules = {
  ...ENTITY_RULES,
  usernameField: OPTION.string,
  passwordField: OPTION.string,
  entityUsernameField: OPTION.string,
  entityPasswordField: OPTION.string,
  errorMessage: OPTION.string,
  hash: HASH_RULES.hash,
  /** Any value where hashes are by scrypt: it stands in the settings of those who come from Feathers. */
  hashSize: { expected: 'anything', isValid: () => true },
  scrypt: OPTION.object,
}

/** @throws {TypeError} an unknown option, or a value that it can't have */
export function checkLocalSection(owner: string, section: Readonly<Record<string, unknown>>): void {
  const isBcrypt = section['hash'] === 'bcrypt'
  checkOptions(owner, section, isBcrypt ? { ...RULES, ...HASH_RULES } : RULES)
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
    hash: 'scrypt',
    scrypt: {},
    ...section,
  }
}
