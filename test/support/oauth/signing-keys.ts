import type { JWK } from 'jose'
import { exportJWK, generateKeyPair } from 'jose'

export type SigningAlgorithm = 'RS256' | 'ES256'

/** A key pair that signs id tokens. */
export interface SigningKey {
  readonly alg: SigningAlgorithm
  readonly kid: string
  /** With the private part. */
  readonly privateJwk: JWK
  /** As in a JWKS. */
  readonly publicJwk: JWK
}

let created = 0

/** Resolves to a new key pair; its `kid` is one that none had before. */
export async function createSigningKey(alg: SigningAlgorithm): Promise<SigningKey> {
  const pair = await generateKeyPair(alg, { extractable: true })
  created += 1
  const kid = `${alg.toLowerCase()}-${created}`
  const named = { alg, kid, use: 'sig' }
  return {
    alg,
    kid,
    privateJwk: { ...(await exportJWK(pair.privateKey)), ...named },
    publicJwk: { ...(await exportJWK(pair.publicKey)), ...named },
  }
}
