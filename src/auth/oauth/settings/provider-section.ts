import type { OptionRule, OptionRules } from '../../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../../core/options/option-check.ts'
import { isNonEmptyString, isPlainObject, isStringList } from '../../../core/value-kind.ts'
import { AUTH_OPTION, parseUrl } from '../../settings-values.ts'

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
  /** Of Grant: PKCE is always used. */
  readonly pkce?: true
  /** Of Grant: there always is a state. */
  readonly state?: true
  /** Of Grant: the version of OAuth. */
  readonly oauth?: 2
  /**
   * What reaches the page after a login: an access token (`'token'`), or a code that it exchanges
   * for one (`'code'`). Default: `'token'`.
   */
  readonly response?: 'token' | 'code'
  /** How the application proves to the provider who it is. Default: what the provider takes. */
  readonly token_endpoint_auth_method?: string
  /** The algorithm of the key, for `private_key_jwt`. */
  readonly token_endpoint_auth_signing_alg?: string
  /** The private key as JWK, for `private_key_jwt`. */
  readonly private_key?: Readonly<Record<string, unknown>>
  /** Lets a provider have an address in a private network, also without TLS. Default: `false`. */
  readonly allowPrivateNetwork?: boolean
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
/** The address of a server: `https://host`, perhaps with a path. */
export const SERVER_URL: OptionRule = {
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
  ...{ pkce: oneOf(true), state: oneOf(true), oauth: oneOf(2), response: oneOf('token', 'code') },
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

/**
 * Checks the section of a provider with its overrides.
 * @param place the name of the section, `authentication.oauth.github`
 * @throws {TypeError} an unknown key, or a value that it can't have
 */
export function checkProviderSection(
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
  const url = parseUrl(String(value).replace('[subdomain]', 'subdomain'))
  if (url === null || url.username !== '' || url.password !== '') return false
  return url.protocol === 'https:' || url.protocol === 'http:'
}
