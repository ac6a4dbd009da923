import type { OptionRules } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { isNonEmptyString, isPlainObject } from '../../core/value-kind.ts'
import type { SettingsObject } from '../settings-values.ts'
import { mergeSettings } from '../settings-values.ts'
import type { LoginThrottleOptions } from '../throttle/login-throttle.ts'
import type { TokenOptions } from '../tokens/token-options.ts'
import type { RevocationList } from '../tokens/token-revocation.ts'

/** The setting of an authentication service; its default key is `authentication`. */
export interface AuthenticationConfiguration {
  /**
   * The keys that sign tokens: a secret of at least 32 bytes, or a private key as PEM. In a list, the first signs and
   * all verify.
   */
  readonly secret?: string | readonly string[]
  /** The name of the entity in results and params, `null` for tokens without an entity. */
  readonly entity?: string | null
  /** The path of the entity service. */
  readonly service?: string
  /** The field with the id of an entity. Default: the property `id` of the entity service. */
  readonly entityId?: string
  /** The strategies that `create` and `remove` accept. Default: none. */
  readonly authStrategies: readonly string[]
  /** The strategies that read HTTP requests. Default: those of `authStrategies`. */
  readonly parseStrategies?: readonly string[]
  /** How tokens are signed and verified. */
  readonly jwtOptions: TokenOptions
  /** Limits failed logins; `true` for the default limits, `false` for none. Default: `true`. */
  readonly loginThrottle: LoginThrottleOptions | boolean
  /** Where a logout records its token; `true` for a list in memory. Default: none, tokens only expire. */
  readonly revocation?: RevocationList | boolean
  /** The names of settings that other packages read: `['refresh-token']`. Default: none. */
  readonly extensions?: readonly string[]
  /** Any other key is the section of the strategy with this name. */
  readonly [strategy: string]: unknown
}

const DEFAULTS = {
  authStrategies: [],
  jwtOptions: {
    header: { typ: 'access' },
    audience: 'https://yourdomain.com',
    issuer: 'feathers',
    algorithm: 'HS256',
    expiresIn: '1d',
  },
  loginThrottle: true,
}

/** The entity settings of a strategy: those of its section, otherwise those of the service. */
export interface EntityConfiguration {
  /** The name of the entity in results and params, `null` for none. */
  readonly entity: string | null
  /** The field with the id of an entity. Default: the property `id` of the entity service. */
  readonly entityId: string | undefined
  /** The path of the entity service. */
  readonly service: string | undefined
}

/** Entity options, which both the setting and the section of a strategy may contain. */
export const ENTITY_RULES: OptionRules = {
  entity: {
    expected: 'a non-empty string or null',
    isValid: (value) => value === null || isNonEmptyString(value),
  },
  service: { expected: 'the path of a service', isValid: isNonEmptyString },
  entityId: OPTION.string,
}

/** Returns settings with all defaults, with later settings overriding earlier ones. */
export function resolveAuthenticationConfig(
  ...settings: readonly unknown[]
): AuthenticationConfiguration {
  return mergeSettings(DEFAULTS, ...settings) as unknown as AuthenticationConfiguration
}

/** Returns the section of a strategy, an empty one if there is none. */
export function getSection(
  configuration: AuthenticationConfiguration,
  name: string,
): Readonly<SettingsObject> {
  const section = Object.hasOwn(configuration, name) ? configuration[name] : undefined
  return isPlainObject(section) ? section : {}
}
