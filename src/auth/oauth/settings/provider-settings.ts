import { SettingError } from '../../../core/errors/setup-errors.ts'
import { isKeyString } from '../../../core/value-kind.ts'
import { mergeSettings } from '../../settings-values.ts'
import type { OAuthSettings, ProviderSection } from './oauth-settings.ts'
import { AUTH_METHODS } from './oauth-settings.ts'

/** A section whose provider may lack PKCE. */
type MergedSection = Omit<ProviderSection, 'pkce'> & { readonly pkce?: boolean }

/** The settings of one provider: its section over the defaults, and what follows from them. */
export interface ProviderSettings extends Omit<MergedSection, 'scope' | 'dynamic'> {
  readonly name: string
  readonly key: string
  /** Without OpenID, only the issuer that responses must name. */
  readonly issuer: string
  /** Whether the discovery document of the issuer lists the endpoints. */
  readonly isOpenId: boolean
  /** The scopes, joined by the separator of the provider. */
  readonly scope: string
  readonly custom_params: Readonly<Record<string, string>>
  /** The names of the parameters that callers may set. */
  readonly dynamic: readonly string[]
  readonly hasNonce: boolean
  readonly hasPkce: boolean
  /** Whether the page after a login gets a code instead of a token. */
  readonly givesCode: boolean
}

/** Built-in settings of a provider, which its section overrides. */
export interface KnownProvider extends MergedSection {
  /** The name of the flag by which its profiles confirm an email address; `null` if they never do. */
  readonly verifiedEmail: string | null
}

/** Common to most OpenID providers. */
const OPENID = { scope: ['openid', 'profile', 'email'], verifiedEmail: 'email_verified' } as const

/**
 * Well-known providers. A section of the settings overrides these values key by key. Providers without `issuer` have
 * one per customer.
 */
const KNOWN_PROVIDERS: ReadonlyMap<string, KnownProvider> = new Map(
  Object.entries<KnownProvider>({
    apple: {
      issuer: 'https://appleid.apple.com',
      scope: ['openid', 'name', 'email'],
      // Apple requires it with any scope.
      custom_params: { response_mode: 'form_post' },
      verifiedEmail: 'email_verified',
    },
    auth0: OPENID,
    discord: {
      issuer: 'https://discord.com',
      authorize_url: 'https://discord.com/api/oauth2/authorize',
      access_url: 'https://discord.com/api/oauth2/token',
      profile_url: 'https://discord.com/api/users/@me',
      scope: ['identify', 'email'],
      verifiedEmail: 'verified',
    },
    facebook: {
      authorize_url: 'https://www.facebook.com/dialog/oauth',
      access_url: 'https://graph.facebook.com/oauth/access_token',
      profile_url: 'https://graph.facebook.com/me?fields=id,name,email',
      scope: ['public_profile', 'email'],
      scope_delimiter: ',',
      verifiedEmail: null,
    },
    github: {
      issuer: 'https://github.com/login/oauth',
      authorize_url: 'https://github.com/login/oauth/authorize',
      access_url: 'https://github.com/login/oauth/access_token',
      profile_url: 'https://api.github.com/user',
      email_url: 'https://api.github.com/user/emails',
      scope: ['read:user', 'user:email'],
      verifiedEmail: 'email_verified',
    },
    gitlab: { ...OPENID, issuer: 'https://gitlab.com' },
    google: { ...OPENID, issuer: 'https://accounts.google.com' },
    keycloak: OPENID,
    // LinkedIn rejects the PKCE verifier, and its id tokens have no nonce.
    linkedin: { ...OPENID, issuer: 'https://www.linkedin.com/oauth', pkce: false, nonce: false },
    microsoft: {
      ...OPENID,
      issuer: 'https://login.microsoftonline.com/common/v2.0',
      // Anyone who runs a tenant can set any address in its accounts.
      verifiedEmail: null,
    },
    okta: OPENID,
  }),
)

/** Returns the built-in settings of a provider, `undefined` if there are none. */
export function findKnownProvider(name: string): KnownProvider | undefined {
  return KNOWN_PROVIDERS.get(name)
}

/** Returns the email address that a provider has confirmed as the person's, or `null`. */
export function findVerifiedEmail(
  provider: string,
  profile: Readonly<Record<string, unknown>>,
): string | null {
  const known = findKnownProvider(provider)
  const flag = known === undefined ? 'email_verified' : known.verifiedEmail
  const { email } = profile
  if (flag === null || !isKeyString(email)) return null
  // Apple sends a string.
  return profile[flag] === true || profile[flag] === 'true' ? email : null
}

/** Parameters that `dynamic: true` lets callers set. None of them weakens a login. */
const DYNAMIC_DEFAULTS: readonly string[] = [
  ...['prompt', 'login_hint', 'domain_hint', 'hd', 'ui_locales', 'display'],
]

/** Parameters that only the flow itself sets. */
const OWN_PARAMETERS: readonly string[] = [
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri'],
]

const URL_KEYS = ['issuer', 'authorize_url', 'access_url', 'profile_url', 'email_url'] as const

/**
 * Returns the settings of a provider. Built-in settings, defaults, section and override are merged; later ones win.
 * @param place the name of the section, for errors
 * @throws {TypeError} a setting is missing or contradicts another
 */
export function resolveProvider(
  place: string,
  settings: OAuthSettings,
  name: string,
  override?: ProviderSection,
): ProviderSettings {
  const section = mergeSection(settings, name, override)
  const problem = findProblem(section)
  if (problem !== undefined) throw new SettingError(`The setting '${place}' ${problem}`)
  const { key = '', scope = [], scope_delimiter = ' ', custom_params = {} } = section
  const { issuer = new URL(String(section.authorize_url)).origin, dynamic = false } = section
  const isOpenId = section.authorize_url === undefined
  const scopes = [scope].flat()
  const isMissing = isOpenId && !scopes.join(' ').split(' ').includes('openid')
  return {
    ...section,
    ...{ name, key, issuer, isOpenId, custom_params },
    scope: (isMissing ? ['openid', ...scopes] : scopes).join(scope_delimiter),
    dynamic: dynamic === true ? DYNAMIC_DEFAULTS : dynamic || [],
    hasPkce: section.pkce !== false,
    hasNonce: isOpenId && section.nonce !== false,
    givesCode: section.response === 'code',
  }
}

function mergeSection(
  settings: OAuthSettings,
  name: string,
  override: ProviderSection | undefined,
): MergedSection {
  const { verifiedEmail: _verifiedEmail, ...known } = findKnownProvider(name) ?? {}
  const { prefix: _prefix, origin: _origin, ...defaults } = settings.defaults ?? {}
  const own = { ...defaults, ...(settings[name] as ProviderSection), ...override }
  // A custom URL or issuer means a different server than the built-in one of this name.
  const isOther = own.issuer !== undefined || own.authorize_url !== undefined
  const inherited = Object.entries(known).filter(
    ([key]) => !isOther || !URL_KEYS.some((one) => one === key),
  )
  return mergeSettings(Object.fromEntries(inherited), own) as MergedSection
}

/** Returns what is missing in a section or contradicts another setting; `undefined` if it is valid. */
function findProblem(section: MergedSection): string | undefined {
  const { key, issuer, authorize_url, access_url } = section
  const { custom_params = {}, dynamic, token_endpoint_auth_method: method = '' } = section
  const insecure = URL_KEYS.map((name) => section[name]).find((url) => /^http:/i.test(url ?? ''))
  const orphan = URL_KEYS.slice(2).find((name) => section[name] !== undefined)
  const set = OWN_PARAMETERS.find((name) => Object.hasOwn(custom_params, name))
  const open = OWN_PARAMETERS.find((name) => Array.isArray(dynamic) && dynamic.includes(name))
  const proofs = (['secret', 'private_key'] as const).filter((name) => section[name] !== undefined)
  const needed = AUTH_METHODS[method]
  const isLacking = needed != null && !proofs.includes(needed)
  const unused = method === '' ? undefined : proofs.find((name) => name !== needed)
  const problems: readonly (readonly [isThere: boolean, problem: string])[] = [
    [set !== undefined, `sets '${set}' in 'custom_params', as each flow does`],
    [open !== undefined, `lets callers set '${open}' by 'dynamic'`],
    [!authorize_url && orphan !== undefined, `has '${orphan}', but no 'authorize_url'`],
    [!!authorize_url && !access_url, "has 'authorize_url', but no 'access_url'"],
    [
      !authorize_url && !issuer,
      "needs 'issuer', or 'authorize_url', 'access_url' and 'profile_url'",
    ],
    [
      insecure !== undefined && section.allowPrivateNetwork !== true,
      `has '${insecure}': only a provider with 'allowPrivateNetwork: true' may have http:`,
    ],
    [key === undefined, "has no 'key': the id of your application"],
    [isLacking, `has no '${needed}', which '${method}' needs`],
    [unused !== undefined, `has '${unused}', which '${method}' does not use`],
    // The environment variable for the secret may be unset.
    [
      method === '' && proofs.length === 0,
      "has no 'secret'; a public client says so: token_endpoint_auth_method: 'none'",
    ],
    [
      method === '' && proofs.length > 1,
      "has 'secret' and 'private_key': 'token_endpoint_auth_method' must say which is used",
    ],
  ]
  return problems.find(([isThere]) => isThere)?.[1]
}
