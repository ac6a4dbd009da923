import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createRandom, hashString } from '../../core/secrets/opaque-token.ts'
import { deriveKey } from '../../core/secrets/secret.ts'
import { findSealed, sealData } from '../tokens/sealed-data.ts'

/** The keys of one authentication service, which authenticate tokens. The first creates codes, and all verify them. */
export type TokenKeys = readonly Uint8Array[]

/** A refresh token issued by a server with the same secret. `RefreshStrategy` replaces it when it is used. */
export interface RefreshToken {
  readonly text: string
  /** The id of its session. */
  readonly sessionId: string
  /** The claim `sub` of its user, `''` if there is none. */
  readonly userId: string
  /** The number of earlier refreshes of its session. */
  readonly generation: number
  /** The stored form of the token. */
  readonly hash: string
}

/**
 * `<session>.<256 random bits>.<user>.<generation>.<code>`. The code proves, without a database lookup, that a server
 * with the same secret issued the token. The token names its user, who is read before anything is written.
 */
const FORMAT = /^([\w-]{22})\.[\w-]{43}\.([\w-]{0,700})\.(\d{1,9})\.([\w-]{22})$/

const SESSION_ID_BYTES = 16
const CODE_BYTES = 16

/**
 * Returns a key for each secret. Deriving is slow, so callers should keep the keys.
 * @param configKey of the settings: services with the same secret reject each other's tokens
 */
export function deriveTokenKeys(configKey: string, secrets: readonly string[]): TokenKeys {
  return secrets.map((secret) => deriveKey(`refresh-token ${configKey}`, secret))
}

/** Returns the id of a new session. It has 22 characters, so it cannot be mistaken for an ObjectId, which has 24. */
export function createSessionId(): string {
  return randomBytes(SESSION_ID_BYTES).toString('base64url')
}

/** Returns a new token, with a code by the first key. */
export function createRefreshToken(
  { sessionId, userId, generation }: Pick<RefreshToken, 'sessionId' | 'userId' | 'generation'>,
  [key = new Uint8Array()]: TokenKeys,
): RefreshToken {
  const user = Buffer.from(userId).toString('base64url')
  const head = `${sessionId}.${createRandom()}.${user}.${generation}`
  const text = `${head}.${createCode(head, key)}`
  return { text, sessionId, userId, generation, hash: hashString(text) }
}

/** Returns a token that was issued with one of the keys, `null` for anything else. */
export function readRefreshToken(text: unknown, keys: TokenKeys): RefreshToken | null {
  const token = typeof text === 'string' ? parseToken(text) : null
  if (token === null) return null
  const end = token.text.lastIndexOf('.')
  const [head, code] = [token.text.slice(0, end), token.text.slice(end + 1)]
  const isOurs = keys.some((key) =>
    timingSafeEqual(Buffer.from(createCode(head, key)), Buffer.from(code)),
  )
  return isOurs ? token : null
}

/** Returns the parts of a token, without checking its code; `null` if the format does not match. */
function parseToken(text: string): RefreshToken | null {
  const [, sessionId, user, generation] = FORMAT.exec(text) ?? []
  if (sessionId === undefined || user === undefined) return null
  const userId = Buffer.from(user, 'base64url').toString()
  return { text, sessionId, userId, generation: Number(generation), hash: hashString(text) }
}

function createCode(head: string, key: Uint8Array): string {
  const code = createHmac('sha256', key).update(head).digest()
  return code.subarray(0, CODE_BYTES).toString('base64url')
}

/** Returns the claim `jti` of the access token issued with a refresh token: the same for each repeat. */
export function toTokenId({ text }: RefreshToken): string {
  return hashString(`jti ${text}`).slice(0, 22)
}

/**
 * Returns a token encrypted with a key derived from its predecessor: a caller who repeats a refresh, because the
 * response was lost, has that predecessor.
 * @param lifetime seconds after which it can no longer be read
 */
export function sealSuccessor(
  { text }: RefreshToken,
  before: RefreshToken,
  lifetime: number,
): string {
  return sealData('session-successor', { text }, toSealKey(before), lifetime)
}

/** Returns the sealed token; `null` if it has another predecessor or its lifetime is over. */
export function openSuccessor(sealed: string, before: RefreshToken): RefreshToken | null {
  const data = findSealed('session-successor', sealed, [toSealKey(before)])
  return typeof data === 'string' ? null : parseToken(String(data['text']))
}

/**
 * Returns 32 bytes derived from a token, but not from its stored hash. The token is random, so a plain hash suffices.
 */
function toSealKey({ text }: RefreshToken): Uint8Array {
  return createHash('sha256').update(`remex session-successor ${text}`).digest()
}
