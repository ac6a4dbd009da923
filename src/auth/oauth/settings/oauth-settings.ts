import type { OptionRule, OptionRules } from '../../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../../core/options/option-check.ts'
import { isNonEmptyString, isPlainObject, isStringList } from '../../../core/value-kind.ts'
import type { AuthenticationConfiguration } from '../../settings/authentication-config.ts'
import { AUTH_OPTION, isOrigin, parseUrl } from '../../settings-values.ts'

/** The section of one provider, `authentication.oauth.github`. The names are those of Grant, which Feathers reads. */
export interface ProviderSection {
  /** The id that the provider has given to this application. */
  readonly key?: string
  /** The secret that goes with the key; a public client, `token_endpoint_auth_method: 'none'`, has none. */
  readonly secret?: string
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
  /** Of Grant: PKCE is always used. */
  readonly pkce?: true
  /** Of Grant: there always is a state. */
  readonly state?: true
  /** Of Grant: the version of OAuth. */
  readonly oauth?: 2
  /**
   * What reaches the page after a login: an access token (`'token'`), or a code that it exchanges
   * for one (`'code'`). Default: `'token'`, as is the list that Feathers has as its default.
   */
  readonly response?: 'token' | 'code' | readonly ('tokens' | 'raw' | 'profile')[]
  /** Of Grant: Feathers has it as its default. */
  readonly transport?: 'state'
  /** How the application proves to the provider who it is. Default: what the provider takes. */
  readonly token_endpoint_auth_method?: string
  /** The algorithm of the key, for `private_key_jwt`. */
  readonly token_endpoint_auth_signing_alg?: string
  /** The private key as JWK, for `private_key_jwt`. */
  readonly private_key?: Readonly<Record<string, unknown>>
  /** Lets a provider have an address in a private network, also without TLS. Default: `false`. */
  readonly allowPrivateNetwork?: boolean
}

/** What the sections of all providers have in common, and where the services stand. */
export interface OAuthDefaults extends ProviderSection {
  /** The path below which the services stand. Default: `'/oauth'`. */
  readonly prefix?: string
  /** The address under which browsers reach the server. Default: that of each request. */
  readonly origin?: string
}

/** The section `oauth` of the settings of an authentication service. */
export interface OAuthSettings {
  /** The page after a login: a URL, or a path of this server. Default: none, the answer is JSON. */
  readonly redirect?: string
  /**
   * The origins that logins may start from, and return to. Wins over `redirect`. Default: the
   * setting `origins` of the application.
   */
  readonly origins?: readonly string[]
  /** Whether an origin of this computer stands for all its ports. Default: `false`. */
  readonly allowLoopbackPorts?: boolean
  /** For all providers, key by key. */
  readonly defaults?: OAuthDefaults
  /** Any other key is the section of the provider with this name. */
  readonly [provider: string]: unknown
}

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
const SERVER_URL: OptionRule = {
  expected: "the address of a server as 'https://host', perhaps with a path",
  isValid: (value) => isHttpUrl(value) && !/[?#]/.test(value),
}

/** Returns the rule for an option with few values. */
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
 * What an override may change: what is asked for and how, and nothing about who the provider is. An
 * id of another server would be taken for that of the same person.
 */
const OVERRIDE_RULES: OptionRules = Object.fromEntries(
  ['scope', 'scope_delimiter', 'custom_params', 'dynamic', 'redirect_uri', 'response'].map(
    (name) => [name, PROVIDER_RULES[name] as OptionRule],
  ),
)

const OWN_RULES: OptionRules = {
  redirect: { expected: 'a URL, or a path that begins with one /', isValid: isPageAddress },
  origins: {
    expected: "a list of origins as 'https://host:port'",
    isValid: (value) => Array.isArray(value) && value.length > 0 && value.every(isOrigin),
  },
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

/** Returns the section `oauth`, `null` when there is none. */
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
 * Checks the section `oauth`, and the section of each provider in it.
 * @param place its name, `authentication.oauth`
 * @throws {TypeError} an unknown key, or a value that it can't have
 */
export function checkOAuthSettings(place: string, settings: OAuthSettings): void {
  const { redirect, defaults = {} } = settings
  const own = Object.entries(settings).filter(([name]) => Object.hasOwn(OWN_RULES, name))
  checkOptions(`the setting '${place}'`, Object.fromEntries(own), OWN_RULES)
  checkProviderSection(`${place}.defaults`, defaults, DEFAULTS_RULES)
  for (const name of getProviderNames(settings)) {
    // Also the last part of the path to which a provider sends people back.
    if (!/^[\w-]+$/.test(name) || name === 'callback') {
      throw new TypeError(`The setting '${place}' names a provider '${name}': it stands in paths`)
    }
    checkProviderSection(`${place}.${name}`, settings[name])
  }
  if (redirect?.endsWith('?') && !redirect.includes('#')) {
    throw new TypeError(
      `The setting '${place}.redirect' ends in '?': tokens would stand in a query, and in logs`,
    )
  }
}

function isPageAddress(value: unknown): boolean {
  if (typeof value !== 'string' || /[\s\\]/.test(value)) return false
  return /^\/(?!\/)/.test(value) || SERVER_URL.isValid(value.replace(/[?#].*$/, ''))
}

/**
 * Checks the section of a provider with its overrides.
 * @param place the name of the section, `authentication.oauth.github`
 * @throws {TypeError} an unknown key, or a value that it can't have
 */
function checkProviderSection(
  place: string,
  section: unknown,
  rules: OptionRules = PROVIDER_RULES,
): void {
  if (!isPlainObject(section)) throw new TypeError(`The setting '${place}' must be an object`)
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
