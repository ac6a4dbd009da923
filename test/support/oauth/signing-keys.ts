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

/** Making a pair for RSA takes a tenth of a second: a process makes these, and uses them in turn. */
const PAIRS = 6

type Pair = Awaited<ReturnType<typeof generateKeyPair>>

const pairs = new Map<string, Promise<Pair>>()
let created = 0

/**
 * Resolves to a key pair that differs from the five before it; its `kid` is one that none had before.
 */
export async function createSigningKey(alg: SigningAlgorithm): Promise<SigningKey> {
  created += 1
  const kid = `${alg.toLowerCase()}-${created}`
  const pair = await findPair(alg, created % PAIRS)
  const named = { alg, kid, use: 'sig' }
  return {
    alg,
    kid,
    privateJwk: { ...(await exportJWK(pair.privateKey)), ...named },
    publicJwk: { ...(await exportJWK(pair.publicKey)), ...named },
  }
}

function findPair(alg: SigningAlgorithm, index: number): Promise<Pair> {
  const name = `${alg} ${index}`
  const pair = pairs.get(name) ?? generateKeyPair(alg, { extractable: true })
  pairs.set(name, pair)
  return pair
}
