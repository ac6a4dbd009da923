import { isKeyString } from '../../../core/value-kind.ts'
import type { ProviderSection } from './provider-section.ts'

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
    auth0: {
      issuer: 'https://[subdomain].auth0.com/',
      scope: ['openid', 'profile', 'email'],
      verifiedEmail: 'email_verified',
    },
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
    gitlab: {
      issuer: 'https://gitlab.com',
      scope: ['openid', 'profile', 'email'],
      verifiedEmail: 'email_verified',
    },
    google: {
      issuer: 'https://accounts.google.com',
      scope: ['openid', 'profile', 'email'],
      verifiedEmail: 'email_verified',
    },
    keycloak: {
      issuer: 'https://[subdomain]',
      scope: ['openid', 'profile', 'email'],
      verifiedEmail: 'email_verified',
    },
    linkedin: {
      issuer: 'https://www.linkedin.com/oauth',
      scope: ['openid', 'profile', 'email'],
      // It refuses the verifier of PKCE, and its id tokens have no nonce.
      ...{ pkce: false, nonce: false },
      verifiedEmail: 'email_verified',
    },
    microsoft: {
      issuer: 'https://login.microsoftonline.com/common/v2.0',
      scope: ['openid', 'profile', 'email'],
      // Anybody who runs a tenant can write any address into its accounts.
      verifiedEmail: null,
    },
    okta: {
      issuer: 'https://[subdomain].okta.com',
      scope: ['openid', 'profile', 'email'],
      verifiedEmail: 'email_verified',
    },
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
