import type { Given, OptionRule } from '../../core/options/option-rules.ts'
import {
  BOOLEAN_OPTION,
  checkRules,
  STRING_OPTION,
  withDefaults,
} from '../../core/options/option-rules.ts'
import { stripSlashes } from '../../core/services/service-input.ts'
import { HEADER_NAME } from '../requests/request-headers.ts'
import { findLocation } from './location-token.ts'
import type { TokenStorage } from './token-storage.ts'
import { isTokenStorage, MemoryStorage } from './token-storage.ts'

/** Options of an `AuthenticationClient`, with every default filled in. */
export interface AuthenticationClientOptions {
  /** The path of the authentication service. Default: `'/authentication'`. */
  readonly path: string
  /**
   * Stores tokens. Default: a {@link MemoryStorage} of this client. With `cookie` it is `localStorage` of the page,
   * which then holds only the id of the user, for other tabs.
   */
  readonly storage: TokenStorage
  /** The storage key of the token. Default: `'feathers-jwt'`. */
  readonly storageKey: string
  /** The header that the token is sent in. Default: `'Authorization'`. */
  readonly header: string
  /** The prefix of the token in the header; `''` for none. Default: `'Bearer'`. */
  readonly scheme: string
  /**
   * Whether the server keeps tokens in cookies, by its setting `sessions.cookie`. The client then stores the id of the
   * user and no token. Default: `false`.
   */
  readonly cookie: boolean
  /** The name of the strategy that accepts a token. Default: `'jwt'`. */
  readonly jwtStrategy: string
  /**
   * The name of a token in the hash of the page's URL. Default: `'access_token'`. The names of a code and its strategy
   * are always `code` and `strategy`.
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
  storageKey: STRING_OPTION,
  header: {
    expected: 'the name of a header',
    isValid: (value) => typeof value === 'string' && HEADER_NAME.test(value.toLowerCase()),
  },
  scheme: {
    expected: 'a string without blanks',
    isValid: (value) => typeof value === 'string' && /^[!-~]*$/.test(value),
  },
  cookie: BOOLEAN_OPTION,
  jwtStrategy: STRING_OPTION,
  locationKey: STRING_OPTION,
  locationErrorKey: STRING_OPTION,
}

/**
 * Returns the options with their defaults.
 * @throws {TypeError} an option is unknown or invalid
 */
export function resolveClientOptions(
  options: Given<AuthenticationClientOptions>,
): AuthenticationClientOptions {
  checkRules('AuthenticationClient', options, CLIENT_RULES)
  return withDefaults<AuthenticationClientOptions>(
    {
      path: '/authentication',
      // Clients that share a storage are logged in as the same user.
      storage: (options.cookie ? findSharedStorage() : undefined) ?? new MemoryStorage(),
      storageKey: 'feathers-jwt',
      header: 'Authorization',
      scheme: 'Bearer',
      cookie: false,
      jwtStrategy: 'jwt',
      locationKey: 'access_token',
      locationErrorKey: 'error',
    },
    options,
  )
}

/** Returns the storage that the tabs of a browser share, `undefined` if there is none. */
function findSharedStorage(): TokenStorage | undefined {
  if (findLocation() === undefined) return undefined
  try {
    return (globalThis as { localStorage?: TokenStorage }).localStorage
  } catch {
    // A browser that stores nothing for this site throws: this tab then works without other tabs.
    return undefined
  }
}
