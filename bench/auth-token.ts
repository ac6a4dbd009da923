import { createSigner } from 'fast-jwt'
import { toRequest } from './load.ts'
import type { BenchRecord } from './rest-records.ts'
import { getRecord } from './rest-records.ts'

// The token that all servers verify, and what they do for its user.

export const SECRET = 'a secret of the benchmark, with 32 bytes and more'
export const AUDIENCE = 'https://bench.example'
export const ISSUER = 'bench'
/** The type in the header of tokens. */
export const TYPE = 'access'
/** What a token has to say. */
export const CLAIMS = ['iat', 'exp', 'aud', 'iss', 'sub', 'jti']

const USER_ID = 'record-0007'
const RECORD_ID = 'record-0042'

/** The answer to a request with a token that another secret has signed. */
export const REFUSAL = {
  name: 'NotAuthenticated',
  message: 'invalid signature',
  code: 401,
  className: 'not-authenticated',
  data: { name: 'JsonWebTokenError' },
}

/** The answer to a request with a token of ours. */
export const OWN_RECORD = getRecord(RECORD_ID)

/**
 * Returns the bytes of a request for {@link OWN_RECORD}, with a token that a secret has signed.
 * @param claims of the token, beside the usual ones
 */
export function toSignedRequest(key: string, claims: object = {}): Buffer {
  const header = { alg: 'HS256', typ: TYPE } as const
  const sign = createSigner({ key, algorithm: 'HS256', header, expiresIn: 86_400_000 })
  const token = sign({ ...claims, aud: AUDIENCE, iss: ISSUER, sub: USER_ID, jti: 'bench-token' })
  const request = toRequest('GET', `/records/${RECORD_ID}`).toString()
  return Buffer.from(request.replace('\r\n\r\n', `\r\nauthorization: Bearer ${token}\r\n\r\n`))
}

/**
 * Returns a record for the user of the token.
 * @throws {Error} the server hands over another user, or none
 */
export function getOwnRecord(user: unknown, id: string): BenchRecord | undefined {
  if ((user as BenchRecord | null | undefined)?.id === USER_ID) return getRecord(id)
  throw new Error(`The user is ${JSON.stringify(user)}`)
}
