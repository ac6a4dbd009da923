import type { SettingsObject } from '../settings-merge.ts'
import { isPlainObject, mergeSettings } from '../settings-merge.ts'
import type { LoginThrottleOptions } from '../throttle/login-throttle.ts'
import type { TokenOptions, TokenRules } from '../tokens/token-options.ts'
import type { RevocationList } from '../tokens/token-revocation.ts'
import { isRecord, isText, isTextList, isTextOrList } from '../value-kind.ts'

/** The setting of an authentication service, `authentication` unless it is given another key. */
export interface AuthenticationConfiguration {
  /**
   * What tokens are signed with: a secret of at least 32 bytes, or a private key as PEM. Of a list
   * the first signs and all verify.
   */
  readonly secret?: string | readonly string[]
  /** The name of the entity in results and params, `null` for tokens without entity. */
  readonly entity?: string | null
  /** The path of the service with the entities. */
  readonly service?: string
  /** The name of the id of an entity. Default: the property `id` of the entity service. */
  readonly entityId?: string
  /** The strategies that `create` and `remove` accept. Default: none. */
  readonly authStrategies: readonly string[]
  /** The strategies that read HTTP requests. Default: those of `authStrategies`. */
  readonly parseStrategies?: readonly string[]
  readonly jwtOptions: TokenOptions
  /** Limits failing logins; `true` for the default limits, `false` for none. Default: `true`. */
  readonly loginThrottle: LoginThrottleOptions | boolean
  /** Where logout notes its token; `true` for a list in memory. Default: tokens live until they expire. */
  readonly revocation?: RevocationList | boolean
  /** Any other key is the section of the strategy with this name. */
  readonly [strategy: string]: unknown
}

/** The key whose tokens carry no name of their service, as there is usually but one. */
const DEFAULT_KEY = 'authentication'

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

/** Which values an option may have. */
interface Check {
  isRight(this: void, value: unknown): boolean
  readonly expected: string
}

/** The section of a strategy. */
const SECTION: Check = { isRight: isPlainObject, expected: 'an object' }

const CHECKS: Readonly<Record<string, Check>> = {
  secret: {
    isRight: isTextOrList,
    expected: 'a text or a list of texts',
  },
  entity: { isRight: (value) => value === null || isText(value), expected: 'a text or null' },
  service: { isRight: isText, expected: 'the path of a service' },
  entityId: { isRight: isText, expected: 'a text' },
  authStrategies: { isRight: isTextList, expected: 'a list of strategy names' },
  parseStrategies: { isRight: isTextList, expected: 'a list of strategy names' },
  jwtOptions: SECTION,
  loginThrottle: {
    isRight: isThrottle,
    expected:
      'an object with numbers and a store that can add, remember and isRemembered, true or false',
  },
  revocation: { isRight: isRevocation, expected: 'a revocation list, true or false' },
  oauth: SECTION,
}

/** Returns settings with every default filled in, later settings over earlier ones. */
export function resolveAuthenticationConfig(
  ...settings: readonly unknown[]
): AuthenticationConfiguration {
  return mergeSettings(DEFAULTS, ...settings) as unknown as AuthenticationConfiguration
}

/**
 * Checks that each option has a known name and a value of the right kind.
 * @throws {TypeError} an unknown option, which names the option and the key of the setting
 */
export function checkOptions(
  configuration: AuthenticationConfiguration,
  configKey: string,
  strategyNames: readonly string[],
): void {
  const { authStrategies, parseStrategies = [] } = configuration
  const sections = [strategyNames, authStrategies, parseStrategies].flat()
  for (const [name, value] of Object.entries(configuration)) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined
    if (check === undefined && !sections.includes(name)) {
      const known = [...Object.keys(CHECKS), 'the names of strategies'].join(', ')
      throw new TypeError(`Unknown option '${configKey}.${name}': allowed are ${known}`)
    }
    const { isRight, expected } = check ?? SECTION
    if (!isRight(value))
      throw new TypeError(`The option '${configKey}.${name}' must be ${expected}`)
  }
}

/** Returns which of the rules for tokens follow from the configuration as a whole. */
export function toTokenBinding(
  { entity }: AuthenticationConfiguration,
  configKey: string,
): Pick<TokenRules, 'needsSubject' | 'authority'> {
  return { needsSubject: entity !== null, authority: configKey === DEFAULT_KEY ? null : configKey }
}

/** Returns the section of a strategy, an empty one if there is none. */
export function getSection(
  configuration: AuthenticationConfiguration,
  name: string,
): Readonly<SettingsObject> {
  const section = Object.hasOwn(configuration, name) ? configuration[name] : undefined
  return isPlainObject(section) ? section : {}
}

function isThrottle(value: unknown): boolean {
  if (typeof value === 'boolean') return true
  if (!isPlainObject(value)) return false
  const { store, ...limits } = value
  const isStore = store === undefined || hasMethods(store, ['add', 'remember', 'isRemembered'])
  return isStore && Object.values(limits).every((limit) => typeof limit === 'number')
}

function isRevocation(value: unknown): boolean {
  return typeof value === 'boolean' || hasMethods(value, ['revoke', 'isRevoked'])
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return isRecord(value) && names.every((name) => typeof value[name] === 'function')
}
