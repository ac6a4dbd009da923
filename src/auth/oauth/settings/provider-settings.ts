import { isNonEmptyString } from '../../../core/value-kind.ts'
import { mergeSettings } from '../../settings-merge.ts'
import type { Credentials } from './credentials.ts'
import { toCredentials } from './credentials.ts'
import { findKnownProvider } from './known-providers.ts'
import type { OAuthSettings } from './oauth-settings.ts'
import type { Fail, ProviderSection } from './provider-section.ts'

/** Where a provider without OpenID answers. */
export interface OAuthEndpoints {
  readonly authorizeUrl: string
  readonly accessUrl: string
  /** `null` where a subclass of the strategy gets profiles by itself. */
  readonly profileUrl: string | null
  readonly emailUrl: string | null
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

/** What `dynamic: true` lets callers set: nothing of it changes what a login is worth. */
const DYNAMIC_DEFAULTS: readonly string[] = [
  ...['prompt', 'login_hint', 'domain_hint', 'hd', 'ui_locales', 'display'],
]

/** Parameters of a flow, which nobody else sets. */
const OWN_PARAMETERS: readonly string[] = [
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri'],
]

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
  const section = mergeSection(settings, name, override)
  const fail = (text: string): never => {
    throw new TypeError(`The setting '${place}' ${text}`)
  }
  const { customParams, dynamic } = toParameters(section, fail)
  const endpoints = toEndpoints(section, fail)
  const issuer = section.issuer === undefined ? null : withSubdomain(section.issuer, section, fail)
  checkSubdomain(section, fail)
  if (endpoints === null && issuer === null) {
    fail("needs 'issuer', or 'authorize_url', 'access_url' and 'profile_url'")
  }
  checkEncryption(section, [issuer, ...Object.values(endpoints ?? {})], fail)
  return {
    name,
    ...toCredentials(section, fail),
    issuer,
    endpoints,
    scope: toScope(section, endpoints === null),
    redirectUri: section.redirect_uri ?? null,
    customParams,
    dynamic,
    overrides: section.overrides ?? {},
    hasPkce: (section.pkce as boolean | undefined) !== false,
    hasNonce: endpoints === null && section.nonce !== false,
    givesCode: section.response === 'code',
    allowPrivateNetwork: section.allowPrivateNetwork === true,
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
  return mergeSettings(isOther ? withoutUrls(known) : known, own) as ProviderSection
}

function withoutUrls({
  issuer: _issuer,
  authorize_url: _authorize,
  access_url: _access,
  profile_url: _profile,
  email_url: _email,
  ...others
}: Omit<ProviderSection, 'pkce'>) {
  return others
}

function checkEncryption(
  { allowPrivateNetwork = false }: ProviderSection,
  urls: readonly (string | null)[],
  fail: Fail,
): void {
  const insecure = urls.find((url) => /^http:/i.test(url ?? ''))
  if (insecure === undefined || allowPrivateNetwork) return
  fail(`has '${insecure}': only a provider with 'allowPrivateNetwork: true' may have http:`)
}

function toParameters(section: ProviderSection, fail: Fail) {
  const { custom_params: customParams = {}, dynamic = false } = section
  const names = dynamic === true ? DYNAMIC_DEFAULTS : dynamic || []
  for (const name of OWN_PARAMETERS) {
    if (Object.hasOwn(customParams, name))
      fail(`sets '${name}' in 'custom_params', as each flow does`)
    if (names.includes(name)) fail(`lets callers set '${name}' by 'dynamic'`)
  }
  return { customParams, dynamic: names }
}

function toEndpoints(section: ProviderSection, fail: Fail): OAuthEndpoints | null {
  const { authorize_url: authorizeUrl, access_url: accessUrl, profile_url, email_url } = section
  if (authorizeUrl === undefined) {
    for (const name of ['access_url', 'profile_url', 'email_url'] as const) {
      if (section[name] !== undefined) fail(`has '${name}', but no 'authorize_url'`)
    }
    return null
  }
  if (accessUrl === undefined) return fail("has 'authorize_url', but no 'access_url'")
  return {
    authorizeUrl: withSubdomain(authorizeUrl, section, fail),
    accessUrl: withSubdomain(accessUrl, section, fail),
    profileUrl: isNonEmptyString(profile_url) ? withSubdomain(profile_url, section, fail) : null,
    emailUrl: isNonEmptyString(email_url) ? withSubdomain(email_url, section, fail) : null,
  }
}

function withSubdomain(url: string, { subdomain }: ProviderSection, fail: Fail): string {
  if (!url.includes('[subdomain]')) return url
  return url.replace('[subdomain]', subdomain ?? fail("needs 'subdomain'"))
}

/** A part of a host that stands nowhere is a URL that was forgotten. */
function checkSubdomain(section: ProviderSection, fail: Fail): void {
  const { subdomain, issuer, authorize_url: authorizeUrl } = section
  if (subdomain === undefined || `${issuer} ${authorizeUrl}`.includes('[subdomain]')) return
  fail("has 'subdomain', but no URL with '[subdomain]'")
}

function toScope(
  { scope = [], scope_delimiter = ' ' }: ProviderSection,
  isOpenId: boolean,
): string {
  const scopes = [scope].flat()
  const all =
    isOpenId && !scopes.join(' ').split(' ').includes('openid') ? ['openid', ...scopes] : scopes
  return all.join(scope_delimiter)
}
