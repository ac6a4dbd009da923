import { isKeyString } from '../../../core/value-kind.ts'
import { mergeSettings } from '../../settings-values.ts'
import type { OAuthSettings } from './oauth-settings.ts'
import type { Fail, ProviderSection } from './provider-section.ts'
import { AUTH_METHODS } from './provider-section.ts'

/** Where a provider without OpenID answers. */
export interface OAuthEndpoints {
  readonly authorizeUrl: string
  readonly accessUrl: string
  /** `null` where a subclass of the strategy gets profiles by itself. */
  readonly profileUrl: string | null
  readonly emailUrl: string | null
}

/** How this application proves to a provider who it is. */
interface Credentials {
  readonly key: string
  /** `null` for a public client, and for one with a private key. */
  readonly secret: string | null
  readonly privateKey: Readonly<Record<string, unknown>> | null
  /** `null` for a secret, sent as the provider takes it. */
  readonly authMethod: string | null
  readonly signingAlgorithm: string | null
}

/** The settings of one provider with everything filled in. */
export interface ProviderSettings extends Credentials {
  readonly name: string
  /** The OpenID provider; beside `endpoints` only what its answers must name as their issuer. */
  readonly issuer: string | null
  /** `null` where the discovery document of the issuer names them. */
  readonly endpoints: OAuthEndpoints | null
  /** The scopes, separated as the provider wants them. */
  readonly scope: string
  readonly redirectUri: string | null
  readonly customParams: Readonly<Record<string, string>>
  /** The names of the parameters that callers may set. */
  readonly dynamic: readonly string[]
  readonly overrides: Readonly<Record<string, ProviderSection>>
  readonly hasNonce: boolean
  readonly hasPkce: boolean
  /** Whether the page after a login gets a code in place of a token. */
  readonly givesCode: boolean
  readonly allowPrivateNetwork: boolean
}

/** What is known of a provider before its section of the settings is read. */
export interface KnownProvider extends Omit<ProviderSection, 'pkce'> {
  /** Whether the provider knows PKCE. Default: `true`. */
  readonly pkce?: boolean
  /**
   * Where its profiles say that an e-mail address belongs to the person: the name of a flag, `null`
   * where they never do.
   */
  readonly verifiedEmail: string | null
}

/** Of most OpenID providers. */
const OPENID = { scope: ['openid', 'profile', 'email'], verifiedEmail: 'email_verified' } as const

/**
 * Well-known providers. A section of the settings wins over what stands here, key by key.
 * `[subdomain]` stands for the key `subdomain` of the section.
 */
const KNOWN_PROVIDERS: ReadonlyMap<string, KnownProvider> = new Map(
  Object.entries<KnownProvider>({
    apple: {
      issuer: 'https://appleid.apple.com',
      scope: ['openid', 'name', 'email'],
      // Demanded by Apple where a scope is asked for.
      custom_params: { response_mode: 'form_post' },
      verifiedEmail: 'email_verified',
    },
    auth0: { ...OPENID, issuer: 'https://[subdomain].auth0.com/' },
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
    keycloak: { ...OPENID, issuer: 'https://[subdomain]' },
    // It refuses the verifier of PKCE, and its id tokens have no nonce.
    linkedin: { ...OPENID, issuer: 'https://www.linkedin.com/oauth', pkce: false, nonce: false },
    microsoft: {
      ...OPENID,
      issuer: 'https://login.microsoftonline.com/common/v2.0',
      // Anybody who runs a tenant can write any address into its accounts.
      verifiedEmail: null,
    },
    okta: { ...OPENID, issuer: 'https://[subdomain].okta.com' },
  }),
)

/** Returns what is known of the provider with a name, `undefined` for nothing. */
export function findKnownProvider(name: string): KnownProvider | undefined {
  return KNOWN_PROVIDERS.get(name)
}

/** Returns the address of a profile that a provider says to belong to the person, else `null`. */
export function findVerifiedEmail(
  provider: string,
  profile: Readonly<Record<string, unknown>>,
): string | null {
  const known = findKnownProvider(provider)
  const flag = known === undefined ? 'email_verified' : known.verifiedEmail
  const { email } = profile
  if (flag === null || !isKeyString(email)) return null
  // Apple sends it as a string.
  return profile[flag] === true || profile[flag] === 'true' ? email : null
}

/** What `dynamic: true` lets callers set: nothing of it changes what a login is worth. */
const DYNAMIC_DEFAULTS: readonly string[] = [
  ...['prompt', 'login_hint', 'domain_hint', 'hd', 'ui_locales', 'display'],
]

/** Parameters of a flow, which nobody else sets. */
const OWN_PARAMETERS: readonly string[] = [
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri'],
]

/** What the key `subdomain` of a section takes the place of. */
const SUBDOMAIN = '[subdomain]'

const URL_KEYS = ['issuer', 'authorize_url', 'access_url', 'profile_url', 'email_url'] as const

/**
 * Returns the settings of a provider: what is known of it, the defaults, its section and an override,
 * later ones over earlier ones.
 * @param place the name of the section, for errors
 * @throws {TypeError} something is missing, or contradicts something else
 */
export function resolveProvider(
  place: string,
  settings: OAuthSettings,
  name: string,
  override?: ProviderSection,
): ProviderSettings {
  const fail = (text: string): never => {
    throw new TypeError(`The setting '${place}' ${text}`)
  }
  const section = mergeSection(settings, name, override)
  const { subdomain, allowPrivateNetwork = false, scope_delimiter = ' ' } = section
  const { customParams, dynamic } = readParameters(section, fail)
  const fill = (url: string): string =>
    url.includes(SUBDOMAIN) ? url.replace(SUBDOMAIN, subdomain ?? fail("needs 'subdomain'")) : url
  const endpoints = readEndpoints(section, fill, fail)
  const issuer = section.issuer === undefined ? null : fill(section.issuer)
  // A part of a host that stands nowhere is a URL that was forgotten.
  if (
    subdomain !== undefined &&
    !`${section.issuer} ${section.authorize_url}`.includes(SUBDOMAIN)
  ) {
    fail(`has 'subdomain', but no URL with '${SUBDOMAIN}'`)
  }
  if (endpoints === null && issuer === null) {
    fail("needs 'issuer', or 'authorize_url', 'access_url' and 'profile_url'")
  }
  const urls = [issuer, ...Object.values(endpoints ?? {})]
  const insecure = urls.find((url) => /^http:/i.test(url ?? ''))
  if (insecure !== undefined && !allowPrivateNetwork) {
    fail(`has '${insecure}': only a provider with 'allowPrivateNetwork: true' may have http:`)
  }
  const scopes = [section.scope ?? []].flat()
  const isMissing = endpoints === null && !scopes.join(' ').split(' ').includes('openid')
  return {
    name,
    ...readCredentials(section, fail),
    issuer,
    endpoints,
    scope: (isMissing ? ['openid', ...scopes] : scopes).join(scope_delimiter),
    redirectUri: section.redirect_uri ?? null,
    customParams,
    dynamic,
    overrides: section.overrides ?? {},
    hasPkce: (section.pkce as boolean | undefined) !== false,
    hasNonce: endpoints === null && section.nonce !== false,
    givesCode: section.response === 'code',
    allowPrivateNetwork,
  }
}

function mergeSection(
  settings: OAuthSettings,
  name: string,
  override: ProviderSection | undefined,
): ProviderSection {
  const { verifiedEmail: _verifiedEmail, ...known } = findKnownProvider(name) ?? {}
  const { prefix: _prefix, origin: _origin, ...defaults } = settings.defaults ?? {}
  const own = { ...defaults, ...(settings[name] as ProviderSection), ...override }
  // Own URLs, or an own issuer, are another server than the one that is known by this name.
  const isOther = own.issuer !== undefined || own.authorize_url !== undefined
  const inherited = Object.entries(known).filter(
    ([key]) => !isOther || !URL_KEYS.some((one) => one === key),
  )
  return mergeSettings(Object.fromEntries(inherited), own) as ProviderSection
}

function readParameters(section: ProviderSection, fail: Fail) {
  const { custom_params: customParams = {}, dynamic = false } = section
  const names = dynamic === true ? DYNAMIC_DEFAULTS : dynamic || []
  for (const name of OWN_PARAMETERS) {
    if (Object.hasOwn(customParams, name))
      fail(`sets '${name}' in 'custom_params', as each flow does`)
    if (names.includes(name)) fail(`lets callers set '${name}' by 'dynamic'`)
  }
  return { customParams, dynamic: names }
}

function readEndpoints(
  section: ProviderSection,
  fill: (url: string) => string,
  fail: Fail,
): OAuthEndpoints | null {
  const { authorize_url: authorizeUrl, access_url: accessUrl, profile_url, email_url } = section
  if (authorizeUrl === undefined) {
    for (const name of ['access_url', 'profile_url', 'email_url'] as const) {
      if (section[name] !== undefined) fail(`has '${name}', but no 'authorize_url'`)
    }
    return null
  }
  if (accessUrl === undefined) return fail("has 'authorize_url', but no 'access_url'")
  return {
    authorizeUrl: fill(authorizeUrl),
    accessUrl: fill(accessUrl),
    profileUrl: profile_url === undefined ? null : fill(profile_url),
    emailUrl: email_url === undefined ? null : fill(email_url),
  }
}

/**
 * Returns the credentials in a section.
 * @throws {TypeError} something is missing, or is there and would not be used
 */
function readCredentials(section: ProviderSection, fail: Fail): Credentials {
  const key = pickOne(section, ['key', 'client_id'], fail)
  const secret = pickOne(section, ['secret', 'client_secret'], fail)
  const { private_key: privateKey = null, token_endpoint_auth_method: authMethod = null } = section
  if (key === null) return fail("has no 'key': the id of your application")
  if (authMethod !== null) {
    const needed = AUTH_METHODS[authMethod]
    for (const [name, value] of Object.entries({ secret, private_key: privateKey })) {
      if (name === needed && value === null) fail(`has no '${name}', which '${authMethod}' needs`)
      if (name !== needed && value !== null)
        fail(`has '${name}', which '${authMethod}' does not use`)
    }
  } else if (secret === null && privateKey === null) {
    // The variable that it was to come from may not be set.
    fail("has no 'secret'; a public client says so: token_endpoint_auth_method: 'none'")
  } else if (secret !== null && privateKey !== null) {
    fail("has 'secret' and 'private_key': 'token_endpoint_auth_method' must say which is used")
  }
  return {
    key,
    secret,
    privateKey,
    authMethod: authMethod ?? (secret === null ? 'private_key_jwt' : null),
    signingAlgorithm: section.token_endpoint_auth_signing_alg ?? null,
  }
}

/** Returns the value of a setting that has two names. */
function pickOne(
  section: ProviderSection,
  [name, alias]: readonly [keyof ProviderSection, keyof ProviderSection],
  fail: Fail,
): string | null {
  const values = [section[name], section[alias]].filter((value) => value !== undefined)
  if (values.length > 1) fail(`has '${name}' and '${alias}', which are the same setting`)
  return values.length === 0 ? null : String(values[0])
}
