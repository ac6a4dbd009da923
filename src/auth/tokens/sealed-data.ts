import { hkdfSync } from 'node:crypto'
import { createRefusal } from '../auth-errors.ts'

/** What sealed data is for: data that was sealed for one purpose opens for no other. */
export type SealPurpose = 'oauth-flow' | 'oauth-code' | 'session-successor'

const KEY_BYTES = 32

/**
 * Returns data as a string that only those with the same secret can read or make: an encrypted JWT
 * (RFC 7516, A256GCM).
 * @param secrets the first seals; the setting `secret` of the authentication service, mostly
 * @param lifetime seconds after which it does not open any more
 */
export async function sealData(
  purpose: SealPurpose,
  data: Record<string, unknown>,
  secrets: readonly string[],
  lifetime: number,
): Promise<string> {
  const { EncryptJWT } = await import('jose')
  const now = Math.floor(Date.now() / 1000)
  return new EncryptJWT(data)
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: purpose })
    .setIssuedAt(now)
    .setExpirationTime(now + lifetime)
    .encrypt(deriveKey(purpose, secrets[0] ?? ''))
}

/**
 * Returns the data that was sealed.
 * @throws {NotAuthenticated} it was sealed by somebody else, for another purpose or too long ago
 */
export async function openData(
  purpose: SealPurpose,
  sealed: string,
  secrets: readonly string[],
  message: string,
): Promise<Record<string, unknown>> {
  const { jwtDecrypt } = await import('jose')
  const options = {
    typ: purpose,
    keyManagementAlgorithms: ['dir'],
    contentEncryptionAlgorithms: ['A256GCM'],
    requiredClaims: ['exp', 'iat'],
    currentDate: new Date(Date.now()),
  }
  let refusal: unknown
  for (const secret of secrets) {
    try {
      const { payload } = await jwtDecrypt(sealed, deriveKey(purpose, secret), options)
      return payload
    } catch (error) {
      refusal = error
    }
  }
  const { message: reason } = refusal as Error
  throw createRefusal(message, reason)
}

/** Returns a key of its own for each purpose (HKDF, 32 bytes), so that none of them is the secret itself. */
export function deriveKey(purpose: string, secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `remex ${purpose}`, KEY_BYTES))
}
