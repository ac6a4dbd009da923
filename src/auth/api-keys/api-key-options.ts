import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'

/** The section of the API key strategy. */
export interface ApiKeyConfiguration {
  /** The path of the service that stores the keys, a `MongoDBService`. */
  readonly service: string
  /** The prefix of keys, by which people and scanners recognize the issuer: `'acme'`. */
  readonly prefix: string
  /** The header with the key. Default: `'X-API-Key'`. */
  readonly header: string
  /** The scopes that keys may have. Default: none. */
  readonly scopes: readonly string[]
  /** The maximum number of keys per user. Default: 50. */
  readonly maxPerUser: number
}

export const API_KEY_DEFAULTS: Pick<ApiKeyConfiguration, 'header' | 'scopes' | 'maxPerUser'> = {
  header: 'X-API-Key',
  scopes: [],
  maxPerUser: 50,
}

/** Headers that hold other credentials. */
const TAKEN: ReadonlySet<string> = new Set(['authorization', 'cookie', 'set-cookie'])

export const API_KEY_RULES: Readonly<Record<keyof ApiKeyConfiguration, OptionRule>> = {
  service: { expected: 'the path of a service', isValid: isNonEmptyString },
  prefix: {
    expected: 'up to 20 letters, digits and underscores, a letter first and no underscore last',
    isValid: (value) => typeof value === 'string' && /^[A-Za-z](\w{0,18}[A-Za-z\d])?$/.test(value),
  },
  header: {
    expected: 'the name of a header that nothing else uses',
    isValid: (value) =>
      typeof value === 'string' && /^[\w-]+$/.test(value) && !TAKEN.has(value.toLowerCase()),
  },
  scopes: OPTION.stringList,
  maxPerUser: OPTION.positiveInteger,
}
