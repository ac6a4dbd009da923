import { SettingError } from '../../../core/errors/setup-errors.ts'
import type { OptionRule, OptionRules } from '../../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../../core/options/option-check.ts'
import { isNonEmptyString, isPlainObject, isStringList } from '../../../core/value-kind.ts'
import type { AuthenticationConfiguration } from '../../settings/authentication-config.ts'
import { AUTH_OPTION, isOrigin, parseUrl } from '../../settings-values.ts'

/** The section of one provider, `authentication.oauth.github`. The names are those of Grant, which Feathers reads. */
export interface ProviderSection {
  /** The client id that the provider issued to this application. */
  readonly key?: string
  /** The client secret. A public client has none and sets `token_endpoint_auth_method: 'none'`. */
  readonly secret?: string
  /** The OpenID provider. Its discovery document names all endpoints. */
  readonly issuer?: string
  /** For a provider without OpenID: where people log in. */
  readonly authorize_url?: string
  /** For a provider without OpenID: where a code is exchanged for a token. */
  readonly access_url?: string
  /** For a provider without OpenID: returns the owner of a token, as a JSON object with `id` or `sub`. */
  readonly profile_url?: string
  /**
   * For a provider without OpenID: returns a list of `{ email, primary, verified }`. It is read in addition to the
   * profile, if the scope allows it.
   */
  readonly email_url?: string
  /** The scopes to request. `openid` is always requested from an OpenID provider. */
  readonly scope?: string | readonly string[]
  /** Separates the scopes of a list. Default: a space. */
  readonly scope_delimiter?: string
  /** The URL of the callback. Default: the requested URL plus `/callback`. */
  readonly redirect_uri?: string
  /** Additional parameters for the page of the provider: `{ prompt: 'consent' }`. */
  readonly custom_params?: Readonly<Record<string, string>>
  /** Named sets of settings that `GET /oauth/github/NAME` uses instead of these. */
  readonly overrides?: Readonly<Record<string, ProviderSection>>
  /**
   * Parameters of the provider's page that callers may set: a list, or `true` for those that only affect its appearance
   * and the choice of account. Default: none.
   */
  readonly dynamic?: boolean | readonly string[]
  /** Whether the id token must contain the nonce of the flow. Default: `true`. */
  readonly nonce?: boolean
  /** Key of Grant. PKCE is always used. */
  readonly pkce?: true
  /** Key of Grant. A state is always used. */
  readonly state?: true
  /** Key of Grant: the version of OAuth. */
  readonly oauth?: 2
  /**
   * What the page receives after a login: an access token (`'token'`), or a code to exchange for one (`'code'`).
   * Default: `'token'`, which the default list of Feathers means too.
   */
  readonly response?: 'token' | 'code' | readonly ('tokens' | 'raw' | 'profile')[]
  /** Key of Grant, which Feathers sets by default. */
  readonly transport?: 'state'
  /** How the application authenticates at the provider. Default: a method that the provider accepts. */
  readonly token_endpoint_auth_method?: string
  /** The algorithm of the private key, for `private_key_jwt`. */
  readonly token_endpoint_auth_signing_alg?: string
  /** The private key as a JWK, for `private_key_jwt`. */
  readonly private_key?: Readonly<Record<string, unknown>>
  /** Allows a provider in a private network, also without TLS. Default: `false`. */
  readonly allowPrivateNetwork?: boolean
}

/** Settings that all providers share, and the paths of the services. */
export interface OAuthDefaults extends ProviderSection {
  /** The path prefix of the services. Default: `'/oauth'`. */
  readonly prefix?: string
  /** The origin under which browsers reach the server. Default: that of each request. */
  readonly origin?: string
}

/** The section `oauth` of the settings of an authentication service. */
export interface OAuthSettings {
  /** The page after a login: a URL, or a path on this server. Default: none, the response is JSON. */
  readonly redirect?: string
  /**
   * The origins that logins may start from and return to. Overrides `redirect`. Default: the setting `origins` of the
   * application.
   */
  readonly origins?: readonly string[]
  /** Whether an origin on localhost matches any port. Default: `false`. */
  readonly allowLoopbackPorts?: boolean
  /** Defaults for all providers, key by key. */
  readonly defaults?: OAuthDefaults
  /** Any other key is the section of the provider with this name. */
  readonly [provider: string]: unknown
}

/** The credential that each `token_endpoint_auth_method` requires; the other must not be set. */
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
const SERVER_URL: OptionRule = {
  expected: "the address of a server as 'https://host', perhaps with a path",
  isValid: (value) => isHttpUrl(value) && !/[?#]/.test(value),
}

/** Returns the rule for an option that takes one of a few values. */
function oneOf(...values: readonly unknown[]): OptionRule {
  return {
    expected: values.length === 1 ? String(values[0]) : `one of ${values.join(', ')}`,
    isValid: (value) => values.includes(value),
  }
}

export const PROVIDER_RULES: OptionRules = {
  ...{ key: OPTION.string, secret: OPTION.string, private_key: OPTION.object },
  ...{ issuer: URL_RULE, authorize_url: URL_RULE, access_url: URL_RULE },
  ...{ profile_url: URL_RULE, email_url: URL_RULE, redirect_uri: SERVER_URL },
  scope: AUTH_OPTION.stringOrList,
  scope_delimiter: OPTION.string,
  custom_params: {
    expected: 'an object of strings',
    isValid: (value) => isPlainObject(value) && Object.values(value).every(isNonEmptyString),
  },
  overrides: OPTION.object,
  dynamic: {
    expected: 'true, false or a list of names',
    isValid: (value) => typeof value === 'boolean' || isStringList(value),
  },
  nonce: OPTION.boolean,
  ...{ pkce: oneOf(true), state: oneOf(true), oauth: oneOf(2), transport: oneOf('state') },
  response: {
    expected: "'token', 'code', or a list of 'tokens', 'raw' and 'profile', which means 'token'",
    isValid: (value) =>
      value === 'token' ||
      value === 'code' ||
      (isStringList(value) && value.every((one) => ['tokens', 'raw', 'profile'].includes(one))),
  },
  token_endpoint_auth_method: oneOf(...Object.keys(AUTH_METHODS)),
  token_endpoint_auth_signing_alg: OPTION.string,
  allowPrivateNetwork: OPTION.boolean,
}

/**
 * Settings that an override may change: what is requested and how, but never the identity of the provider. An id from
 * another server would be taken for the same person.
 */
const OVERRIDE_RULES: OptionRules = Object.fromEntries(
  ['scope', 'scope_delimiter', 'custom_params', 'dynamic', 'redirect_uri', 'response'].map(
    (name) => [name, PROVIDER_RULES[name] as OptionRule],
  ),
)

const ORIGINS: OptionRule = {
  expected: "a list of origins as 'https://host:port'",
  isValid: (value) => Array.isArray(value) && value.length > 0 && value.every(isOrigin),
}

/** @throws {TypeError} the setting `origins` of an application is not a list of origins */
export function checkAppOrigins(origins: unknown): void {
  checkOptions('the settings of the application', { origins }, { origins: ORIGINS })
}

const OWN_RULES: OptionRules = {
  redirect: { expected: 'a URL, or a path that begins with one /', isValid: isPageAddress },
  origins: ORIGINS,
  allowLoopbackPorts: OPTION.boolean,
  defaults: OPTION.object,
}

const DEFAULTS_RULES: OptionRules = {
  ...PROVIDER_RULES,
  prefix: {
    expected: "a path as '/oauth'",
    isValid: (value) => {
      if (typeof value !== 'string') return false
      const [start, ...names] = value.split('/')
      return start === '' && names.length > 0 && names.every((name) => /^[\w.~-]+$/.test(name))
    },
  },
  origin: SERVER_URL,
}

/** Returns the section `oauth`, `null` if there is none. */
export function findOAuthSettings({
  oauth,
}: AuthenticationConfiguration): Readonly<OAuthSettings> | null {
  return isPlainObject(oauth) ? oauth : null
}

/** Returns the names of the providers that have a section. */
export function getProviderNames(settings: OAuthSettings): string[] {
  return Object.keys(settings).filter((name) => !Object.hasOwn(OWN_RULES, name))
}

/**
 * Checks the section `oauth` and the section of each provider in it.
 * @param place its name, `authentication.oauth`
 * @throws {TypeError} a key is unknown or a value is invalid
 */
export function checkOAuthSettings(place: string, settings: OAuthSettings): void {
  const { redirect, defaults = {} } = settings
  const own = Object.entries(settings).filter(([name]) => Object.hasOwn(OWN_RULES, name))
  checkOptions(`the setting '${place}'`, Object.fromEntries(own), OWN_RULES)
  checkProviderSection(`${place}.defaults`, defaults, DEFAULTS_RULES)
  for (const name of getProviderNames(settings)) {
    // The name becomes the last segment of the path that a provider redirects to.
    if (!/^[\w-]+$/.test(name) || name === 'callback') {
      throw new SettingError(
        `The setting '${place}' names a provider '${name}': use letters, digits, _ and -, and not 'callback'`,
      )
    }
    checkProviderSection(`${place}.${name}`, settings[name])
  }
  if (redirect?.endsWith('?') && !redirect.includes('#')) {
    throw new SettingError(
      `The setting '${place}.redirect' ends in '?': tokens would end up in query strings and logs`,
    )
  }
}

function isPageAddress(value: unknown): boolean {
  if (typeof value !== 'string' || /[\s\\]/.test(value)) return false
  return /^\/(?!\/)/.test(value) || SERVER_URL.isValid(value.replace(/[?#].*$/, ''))
}

/**
 * Checks the section of a provider and its overrides.
 * @param place the name of the section, `authentication.oauth.github`
 * @throws {TypeError} a key is unknown or a value is invalid
 */
function checkProviderSection(
  place: string,
  section: unknown,
  rules: OptionRules = PROVIDER_RULES,
): void {
  if (!isPlainObject(section)) throw new SettingError(`The setting '${place}' must be an object`)
  checkOptions(`the setting '${place}'`, section, rules)
  for (const [name, override] of Object.entries(section['overrides'] ?? {})) {
    checkProviderSection(`${place}.overrides.${name}`, override, OVERRIDE_RULES)
  }
}

function isHttpUrl(value: unknown): value is string {
  const url = parseUrl(value)
  if (url === null || url.username !== '' || url.password !== '') return false
  return url.protocol === 'https:' || url.protocol === 'http:'
}
