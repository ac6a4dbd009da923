import type { AuthenticationRequest } from '../../core/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { createNotAuthenticated } from '../auth-errors.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { askProvider } from './provider/ask-provider.ts'
import { verifyIdToken } from './provider/id-token.ts'
import { loadOpenId } from './provider/openid-client.ts'
import type { OAuthProfile } from './provider/profile.ts'
import { proveProfile } from './provider/profile-id.ts'
import type { ProviderSession } from './provider/provider-session.ts'
import type { ProviderAccess } from './provider-access.ts'
import { NO_FLOW } from './sealed/flow-cookie.ts'

/**
 * Returns a login that a caller has begun by itself, on a telephone for example, with the profile
 * that the provider confirms: `{ strategy, id_token, nonce }`, or `{ strategy, access_token }` where
 * the provider can say for whom a token was made. A profile from a caller counts for nothing.
 * @throws {NotAuthenticated} the token is forged, expired, or was made for somebody else
 */
export async function proveDirectly(
  access: ProviderAccess,
  request: AuthenticationRequest,
  { signal }: AuthenticationParams,
): Promise<AuthenticationRequest> {
  const provider = access.getProvider()
  const { id_token, access_token, nonce } = request
  const profile = await askProvider(provider, signal, async (session) => {
    if (isNonEmptyString(id_token)) return verifyIdToken(session, id_token, nonce)
    if (isNonEmptyString(access_token)) return checkAccessToken(session, access_token)
    const reason = 'neither an id token nor an access token'
    throw createNotAuthenticated(NO_FLOW, undefined, { reason })
  })
  const tokens = isNonEmptyString(id_token) ? { id_token } : { access_token }
  return { strategy: access.name, ...tokens, profile: proveProfile(profile, access.name) }
}

/** An access token says nothing about who may use it: one that another application got would do. */
async function checkAccessToken(session: ProviderSession, token: string): Promise<OAuthProfile> {
  const { key, name } = session.provider.settings
  const openid = await loadOpenId()
  const configuration = await session.configure()
  if (configuration.serverMetadata().introspection_endpoint === undefined) {
    throw createNotAuthenticated(
      `Access tokens of ${name} are not accepted: it does not say for whom they were made`,
    )
  }
  const { active, client_id, sub } = await openid.tokenIntrospection(configuration, token)
  if (!active || client_id !== key) {
    const reason = active ? 'the token was made for another application' : 'the token is not active'
    throw createNotAuthenticated(`${name} does not confirm this login`, undefined, { reason })
  }
  return session.getProfile(token, sub === undefined ? undefined : { sub })
}
