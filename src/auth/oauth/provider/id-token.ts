import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import { isNonEmptyString } from '../../../core/value-kind.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import type { OAuthProfile } from './profile.ts'
import type { OAuthProvider } from './provider.ts'
import { REQUEST_MS } from './provider.ts'
import type { ProviderRequest } from './provider-fetch.ts'
import type { ProviderSession } from './provider-session.ts'

/** Those of which a provider publishes the key; with a shared secret any client could sign. */
const ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'],
  ...['EdDSA', 'Ed25519'],
]

/** How far the clock of a provider may be off. */
const CLOCK_TOLERANCE_SECONDS = 30

/** Unknown keys of forged tokens must not have the keys fetched each time. */
const REFETCH_AFTER_MS = 30_000
const KEYS_LIFETIME_MS = 600_000

/** The keys of each provider, which are fetched with the first token. */
const KEYS = new WeakMap<OAuthProvider, KeySet>()

interface KeySet {
  readonly url: string
  readonly getKey: JWTVerifyGetKey
}

/**
 * Returns the claims of an id token that a caller has sent.
 * @param nonce that of the request: it must be the one in the token, where there is one in either
 * @throws {Error} the token is forged, expired, for another application or of another provider
 */
export async function verifyIdToken(
  session: ProviderSession,
  token: string,
  nonce: unknown,
): Promise<OAuthProfile> {
  const { provider } = session
  const { name, key, endpoints } = provider.settings
  if (endpoints !== null) throw createNotAuthenticated(`${name} has no id tokens`)
  const { jwtVerify } = await import('jose')
  const server = (await session.configure()).serverMetadata()
  const offered = server.id_token_signing_alg_values_supported ?? ['RS256']
  const { payload } = await jwtVerify(token, await getKeys(provider, String(server.jwks_uri)), {
    algorithms: ALGORITHMS.filter((algorithm) => offered.includes(algorithm)),
    audience: key,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(Date.now()),
    requiredClaims: ['iss', 'sub', 'iat', 'exp'],
  })
  checkIssuer(payload, server.issuer)
  checkParty(payload, key)
  if (payload['nonce'] !== nonce) throw new Error('unexpected nonce')
  if (!isNonEmptyString(payload.sub)) throw new Error('unexpected subject')
  return { ...payload }
}

async function getKeys(provider: OAuthProvider, url: string): Promise<JWTVerifyGetKey> {
  const known = KEYS.get(provider)
  if (known?.url === url) return known.getKey
  const { createRemoteJWKSet, customFetch } = await import('jose')
  const getKey = createRemoteJWKSet(new URL(url), {
    cooldownDuration: REFETCH_AFTER_MS,
    cacheMaxAge: KEYS_LIFETIME_MS,
    // The limit of the provider's requests names the provider in its error.
    timeoutDuration: 2 * REQUEST_MS,
    [customFetch]: (target: string, init: ProviderRequest) => provider.fetch(target, init),
  })
  KEYS.set(provider, { url, getKey })
  return getKey
}

/** The tenants of Microsoft share a discovery document, which has a placeholder for theirs. */
function checkIssuer({ iss, tid }: JWTPayload, issuer: string): void {
  const expected = issuer.replace('{tenantid}', String(tid))
  if (iss !== expected) throw new Error('unexpected issuer')
}

/** Of several audiences one has asked for the token. */
function checkParty({ aud, azp }: JWTPayload, key: string): void {
  const isShared = Array.isArray(aud) && aud.length > 1
  if (isShared && azp !== key) throw new Error('unexpected authorized party')
}
