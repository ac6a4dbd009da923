import type { Given, OptionRule } from '../../core/options/option-rules.ts'
import { checkRules, OPTION, withDefaults } from '../../core/options/option-rules.ts'
import { stripSlashes } from '../../core/services/service-path.ts'
import type { TokenStorage } from './token-storage.ts'
import { isTokenStorage, MemoryStorage } from './token-storage.ts'

/** Options of an {@link AuthenticationClient}, with every default filled in. */
export interface AuthenticationClientOptions {
  /** The path of the authentication service. Default: `'/authentication'`. */
  readonly path: string
  /** Where the token is kept. Default: a {@link MemoryStorage} of this client. */
  readonly storage: TokenStorage
  /** The name by which the token is kept. Default: `'feathers-jwt'`. */
  readonly storageKey: string
  /** The header that the token is sent in. Default: `'Authorization'`. */
  readonly header: string
  /** What stands before the token in the header; `''` for nothing. Default: `'Bearer'`. */
  readonly scheme: string
  /** The name of the strategy that takes a token. Default: `'jwt'`. */
  readonly jwtStrategy: string
  /**
   * The name of a token in the hash of the page's URL. Default: `'access_token'`. Those of a code and
   * of its strategy are always `code` and `strategy`.
   */
  readonly locationKey: string
  /** The name of an error in the hash of the page's URL. Default: `'error'`. */
  readonly locationErrorKey: string
}

/** Rules for {@link AuthenticationClientOptions}. */
export const CLIENT_RULES: Readonly<Record<keyof AuthenticationClientOptions, OptionRule>> = {
  path: {
    expected: 'the path of a service',
    isValid: (value) => typeof value === 'string' && stripSlashes(value) !== '',
  },
  storage: {
    expected: 'an object with getItem, setItem and removeItem',
    isValid: isTokenStorage,
  },
  storageKey: OPTION.string,
  header: {
    expected: 'the name of a header',
    isValid: (value) => typeof value === 'string' && /^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(value),
  },
  scheme: {
    expected: 'a string without blanks',
    isValid: (value) => typeof value === 'string' && /^[!-~]*$/.test(value),
  },
  jwtStrategy: OPTION.string,
  locationKey: OPTION.string,
  locationErrorKey: OPTION.string,
}

/**
 * Returns the options with their defaults.
 * @throws {TypeError} an option is unknown or invalid
 */
export function resolveAuthenticationOptions(
  options: Given<AuthenticationClientOptions>,
): AuthenticationClientOptions {
  checkRules('AuthenticationClient', options, CLIENT_RULES)
  const defaults: AuthenticationClientOptions = {
    path: '/authentication',
    // Each client has a storage of its own: clients that share one are logged in as the same user.
    storage: new MemoryStorage(),
    storageKey: 'feathers-jwt',
    header: 'Authorization',
    scheme: 'Bearer',
    jwtStrategy: 'jwt',
    locationKey: 'access_token',
    locationErrorKey: 'error',
  }
  return withDefaults(defaults, options)
}
