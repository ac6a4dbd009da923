import type { ClientAuth, CryptoKey } from 'openid-client'
import type { ProviderSettings } from '../settings/provider-settings.ts'
import type { OpenId } from './openid-client.ts'

/** Returns how requests for tokens are authenticated: as the settings say, else as is accepted. */
export async function createClientAuth(
  openid: OpenId,
  settings: ProviderSettings,
): Promise<ClientAuth> {
  const { secret, privateKey, authMethod, signingAlgorithm } = settings
  const methods: Record<string, () => ClientAuth | Promise<ClientAuth>> = {
    none: () => openid.None(),
    client_secret_post: () => openid.ClientSecretPost(secret ?? undefined),
    client_secret_basic: () => openid.ClientSecretBasic(secret ?? undefined),
    client_secret_jwt: () => openid.ClientSecretJwt(secret ?? undefined),
    private_key_jwt: () => createKeyAuth(openid, privateKey ?? {}, signingAlgorithm ?? 'RS256'),
  }
  const chosen = authMethod === null ? undefined : methods[authMethod]
  if (chosen !== undefined) return chosen()
  const post = openid.ClientSecretPost(secret ?? undefined)
  const basic = openid.ClientSecretBasic(secret ?? undefined)
  return (server, ...others) => {
    const accepted = server.token_endpoint_auth_methods_supported
    const isBasicOnly = accepted !== undefined && !accepted.includes('client_secret_post')
    return (isBasicOnly ? basic : post)(server, ...others)
  }
}

async function createKeyAuth(openid: OpenId, jwk: object, algorithm: string): Promise<ClientAuth> {
  const { importJWK } = await import('jose')
  const { kid } = jwk as { kid?: string }
  const key = (await importJWK(jwk, algorithm)) as CryptoKey
  return openid.PrivateKeyJwt(kid === undefined ? key : { key, kid })
}
