import type { OptionRule, OptionRules } from '../../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../../core/options/option-check.ts'
import { isNonEmptyString, isPlainObject, isStringList } from '../../../core/value-kind.ts'
import { AUTH_OPTION, parseUrl } from '../../settings-values.ts'

/**
 * The section of one provider, `authentication.oauth.github`. The names are those of Grant, which
 * Feathers reads; `key` and `secret` may be called `client_id` and `client_secret`.
 */
export interface ProviderSection {
  /** The id that the provider has given to this application. */
  readonly key?: string
  /** The same as `key`. */
  readonly client_id?: string
  /** The secret that goes with the key; a public client, `token_endpoint_auth_method: 'none'`, has none. */
  readonly secret?: string
  /** The same as `secret`. */
  readonly client_secret?: string
  /** The OpenID provider, whose discovery document names everything else. */
  readonly issuer?: string
  /** Of a provider without OpenID: where people log in. */
  readonly authorize_url?: string
  /** Of a provider without OpenID: where a code is exchanged for a token. */
  readonly access_url?: string
  /** Of a provider without OpenID: who owns a token, as a JSON object with `id` or `sub`. */
  readonly profile_url?: string
  /**
   * Of a provider without OpenID: a list `{ email, primary, verified }`, read besides,
   * where the scope is enough for that.
   */
  readonly email_url?: string
  /** Takes the place of `[subdomain]` in the URLs. */
  readonly subdomain?: string
  /** What the application asks for. An OpenID provider is always asked for `openid`. */
  readonly scope?: string | readonly string[]
  /** Stands between the scopes of a list. Default: a space. */
  readonly scope_delimiter?: string
  /** The URL of the callback. Default: the URL that the caller reached, and `/callback`. */
  readonly redirect_uri?: string
  /** Further parameters for the page of the provider: `{ prompt: 'consent' }`. */
  readonly custom_params?: Readonly<Record<string, string>>
  /** Named sets of settings that `GET /oauth/github/NAME` uses in place of these. */
  readonly overrides?: Readonly<Record<string, ProviderSection>>
  /**
   * The parameters of the provider's page that callers may set: `true` for those that only
   * concern the looks and the account, or a list. Default: none.
   */
  readonly dynamic?: boolean | readonly string[]
  /** Whether the id token names the flow. Default: `true`. */
  readonly nonce?: boolean
  /** PKCE is always used. */
  readonly pkce?: true
  /** There always is a state. */
  readonly state?: true
  /** The version of OAuth. */
  readonly oauth?: 2
  /** Where Grant would put what it gets: nowhere else. */
  readonly transport?: 'state'
  /**
   * What reaches the page after a login: an access token (`'token'`), or a code that it exchanges
   * for one (`'code'`). A list of Grant means `'token'`. Default: `'token'`.
   */
  readonly response?: 'token' | 'code' | readonly string[]
  /** How the application proves to the provider who it is. Default: what the provider takes. */
  readonly token_endpoint_auth_method?: string
  /** The algorithm of the key, for `private_key_jwt`. */
  readonly token_endpoint_auth_signing_alg?: string
  /** The private key as JWK, for `private_key_jwt`. */
  readonly private_key?: Readonly<Record<string, unknown>>
  /** Lets a provider have an address in a private network, also without TLS. Default: `false`. */
  readonly allowPrivateNetwork?: boolean
}

/** Throws an error about a section, which is the beginning of its sentence. */
export type Fail = (rest: string) => never

const GRANT_RESPONSES: readonly string[] = ['tokens', 'raw', 'profile', 'jwt']

/** Keys of Grant and Feathers that are not here, with what to write instead. */
const REPLACED_KEYS: ReadonlyMap<string, string> = new Map([
  ['request_url', 'OAuth 1 is not supported'],
  ['consumer_key', "write 'key'"],
  ['consumer_secret', "write 'secret'"],
  ['entity', 'tokens are for entities of the authentication service: use a second one'],
  ['entityId', 'tokens are for entities of the authentication service: use a second one'],
  ['service', 'tokens are for entities of the authentication service: use a second one'],
  ['public_key', "a certificate is not sent: 'private_key' is a JWK with its 'kid'"],
  ['host', "write 'origin' in 'defaults'"],
  ['protocol', "write 'origin' in 'defaults'"],
  ['path', "write 'prefix' in 'defaults'"],
  ['callback', "the page after a login is 'oauth.redirect'"],
  ['name', 'the name of the section is that of the provider'],
  ['session', 'flows are kept in an encrypted cookie of their own'],
  ['cookie', 'flows are kept in an encrypted cookie of their own'],
])

/** What each way of `token_endpoint_auth_method` needs, and nothing else. */
export const AUTH_METHODS: Readonly<Record<string, 'secret' | 'private_key' | null>> = {
  client_secret_basic: 'secret',
  client_secret_post: 'secret',
  client_secret_jwt: 'secret',
  private_key_jwt: 'private_key',
  none: null,
}

const URL_RULE: OptionRule = {
  expected: 'an http or https URL without user name',
  isValid: isHttpUrl,
}
/** The address of a server: `https://host`, perhaps with a path. */
export const SERVER_URL: OptionRule = {
  expected: "the address of a server as 'https://host', perhaps with a path",
  isValid: (value) => isHttpUrl(value) && !/[?#]/.test(value),
}
const STRINGS: OptionRule = {
  expected: 'an object of strings',
  isValid: (value) => isPlainObject(value) && Object.values(value).every(isNonEmptyString),
}

export const PROVIDER_RULES: OptionRules = {
  ...{ key: OPTION.string, client_id: OPTION.string },
  ...{ secret: OPTION.string, client_secret: OPTION.string },
  ...{ issuer: URL_RULE, authorize_url: URL_RULE, access_url: URL_RULE },
  ...{ profile_url: URL_RULE, email_url: URL_RULE, redirect_uri: SERVER_URL },
  subdomain: {
    expected: 'a host or a part of one, perhaps with a path',
    isValid: (value) => {
      if (typeof value !== 'string') return false
      const [host = '', ...names] = value.split('/')
      return /^[\w.-]+(?::\d+)?$/.test(host) && names.every((name) => /^[\w.-]+$/.test(name))
    },
  },
  scope: AUTH_OPTION.stringOrList,
  scope_delimiter: OPTION.string,
  custom_params: STRINGS,
  overrides: OPTION.object,
  dynamic: {
    expected: 'true, false or a list of names',
    isValid: (value) => typeof value === 'boolean' || isStringList(value),
  },
  nonce: OPTION.boolean,
  pkce: { expected: 'true: PKCE is always used', isValid: (value) => value === true },
  state: { expected: 'true: there always is a state', isValid: (value) => value === true },
  oauth: { expected: '2: OAuth 1 is not supported', isValid: (value) => value === 2 },
  transport: { expected: "'state'", isValid: (value) => value === 'state' },
  response: {
    expected: `'token', 'code' or a list of ${GRANT_RESPONSES.join(', ')}`,
    isValid: (value) =>
      value === 'token' ||
      value === 'code' ||
      (isStringList(value) && value.every((one) => GRANT_RESPONSES.includes(one))),
  },
  token_endpoint_auth_method: {
    expected: `one of ${Object.keys(AUTH_METHODS).join(', ')}`,
    isValid: (value) => Object.hasOwn(AUTH_METHODS, String(value)),
  },
  token_endpoint_auth_signing_alg: OPTION.string,
  private_key: OPTION.object,
  allowPrivateNetwork: OPTION.boolean,
}

/**
 * What an override may change: what is asked for and how, and nothing about who the provider is. An
 * id of another server would be taken for that of the same person.
 */
const OVERRIDE_RULES: OptionRules = Object.fromEntries(
  Object.entries(PROVIDER_RULES).filter(([name]) =>
    ['scope', 'scope_delimiter', 'custom_params', 'dynamic', 'redirect_uri', 'response'].includes(
      name,
    ),
  ),
)

/**
 * Checks the section of a provider with its overrides. Of the keys of Grant that are not here the
 * error says what to write instead.
 * @param place the name of the section, `authentication.oauth.github`
 * @throws {TypeError} an unknown key, or a value that it can't have
 */
export function checkProviderSection(
  place: string,
  section: unknown,
  rules: OptionRules = PROVIDER_RULES,
): void {
  checkKeys(place, section, rules)
  const { overrides = {} } = section as ProviderSection
  for (const [name, override] of Object.entries(overrides)) {
    checkKeys(`${place}.overrides.${name}`, override, OVERRIDE_RULES)
  }
}

function checkKeys(place: string, section: unknown, rules: OptionRules): void {
  if (!isPlainObject(section)) throw new TypeError(`The setting '${place}' must be an object`)
  const replaced = Object.keys(section).find(
    (key) => REPLACED_KEYS.has(key) && !Object.hasOwn(rules, key),
  )
  if (replaced !== undefined) {
    throw new TypeError(
      `The setting '${place}' has no option '${replaced}': ${REPLACED_KEYS.get(replaced)}`,
    )
  }
  checkOptions(`the setting '${place}'`, section, rules)
}

function isHttpUrl(value: unknown): value is string {
  const url = parseUrl(String(value).replace('[subdomain]', 'subdomain'))
  if (url === null || url.username !== '' || url.password !== '') return false
  return url.protocol === 'https:' || url.protocol === 'http:'
}
