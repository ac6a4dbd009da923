import type { AuthenticationRequest } from '../../core/index.ts'
import { NotAuthenticated } from '../../core/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import { createRefusal } from '../auth-errors.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import { proveProfile } from '../proof.ts'
import { NO_FLOW } from './flow-cookie.ts'
import type { OAuthProfile } from './provider/profile.ts'
import { loadOpenId } from './provider/provider.ts'
import type { ProviderSession } from './provider/provider-session.ts'
import { askProvider } from './provider/provider-session.ts'
import type { ProviderAccess } from './provider-access.ts'

/**
 * Returns a login that a caller started itself, for example on a phone, with the profile that the provider confirms: `{
 * strategy, id_token, nonce }`, or `{ strategy, access_token }` if the provider can say which application a token was
 * issued to. A profile in the request is ignored.
 * @throws {NotAuthenticated} the token is forged, expired, or was issued to another application
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
    throw createRefusal(NO_FLOW, reason)
  })
  const tokens = isNonEmptyString(id_token) ? { id_token } : { access_token }
  return { strategy: access.name, ...tokens, profile: proveProfile(profile, access.name) }
}

/** An access token does not say which application may use it: a token issued to another one would pass. */
async function checkAccessToken(session: ProviderSession, token: string): Promise<OAuthProfile> {
  const { key, name } = session.provider.settings
  const openid = await loadOpenId()
  const configuration = await session.configure()
  if (configuration.serverMetadata().introspection_endpoint === undefined) {
    throw new NotAuthenticated(
      `Access tokens of ${name} are not accepted: it does not say for whom they were made`,
    )
  }
  const { active, client_id, sub } = await openid.tokenIntrospection(configuration, token)
  if (!active || client_id !== key) {
    const reason = active ? 'the token was made for another application' : 'the token is not active'
    throw createRefusal(`${name} does not confirm this login`, reason)
  }
  return session.getProfile(token, sub === undefined ? undefined : { sub })
}

/** Algorithms with a published key. With a shared secret, any client could sign. */
const PUBLIC_KEY = /^(?:RS|PS|ES|Ed)/

/** Tolerated clock difference of a provider. */
const CLOCK_TOLERANCE_SECONDS = 30

/**
 * Returns the claims of an id token that a caller has sent.
 * @param nonce that of the request; it must equal the one in the token, and both may be missing
 * @throws {Error} the token is forged, expired, for another application or from another provider
 */
async function verifyIdToken(
  session: ProviderSession,
  token: string,
  nonce: unknown,
): Promise<OAuthProfile> {
  const { provider } = session
  const { name, key, endpoints } = provider.settings
  if (endpoints !== null) throw new NotAuthenticated(`${name} has no id tokens`)
  const { jwtVerify } = await import('jose')
  const server = (await session.configure()).serverMetadata()
  const offered = server.id_token_signing_alg_values_supported ?? ['RS256']
  const { payload } = await jwtVerify(token, await provider.getKeys(String(server.jwks_uri)), {
    algorithms: offered.filter((algorithm) => PUBLIC_KEY.test(algorithm)),
    audience: key,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(Date.now()),
    requiredClaims: ['iss', 'sub', 'iat', 'exp'],
  })
  const { iss, tid, aud, azp, sub } = payload
  // Microsoft's tenants share a discovery document, which has a placeholder for the tenant.
  if (iss !== server.issuer.replace('{tenantid}', String(tid))) throw new Error('unexpected issuer')
  // With several audiences, `azp` names the one that requested the token.
  const isShared = Array.isArray(aud) && aud.length > 1
  if (isShared && azp !== key) throw new Error('unexpected authorized party')
  if (payload['nonce'] !== nonce) throw new Error('unexpected nonce')
  if (!isNonEmptyString(sub)) throw new Error('unexpected subject')
  return { ...payload }
}
