import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { deriveKey } from '../../core/secrets/secret.ts'
import { createRandom, hashString } from '../tokens/opaque-token.ts'
import { findSealed, sealData } from '../tokens/sealed-data.ts'

/** The keys of one authentication service, by which codes are made. The first makes tokens, and all read them. */
export type TokenKeys = readonly Uint8Array[]

/** A refresh token that a server with the same secret has made. `RefreshStrategy` replaces it when it is used. */
export interface RefreshToken {
  readonly text: string
  /** The id of its session. */
  readonly sessionId: string
  /** The claim `sub` of its user, `''` for none. */
  readonly userId: string
  /** How many refreshes its session has had before it. */
  readonly generation: number
  /** What is stored of it. */
  readonly hash: string
}

/**
 * `<session>.<256 random bits>.<user>.<generation>.<code>`. The code proves, without a look at the database, that a
 * server with the same secret has made the token. It names its user, who is read before anything is written.
 */
const FORMAT = /^([\w-]{22})\.[\w-]{43}\.([\w-]{0,700})\.(\d{1,9})\.([\w-]{22})$/

const SESSION_ID_BYTES = 16
const CODE_BYTES = 16

/**
 * Returns a key for each secret, which takes a while: keys are to be kept.
 * @param configKey of the settings: services with the same secret do not take each other's tokens
 */
export function deriveTokenKeys(configKey: string, secrets: readonly string[]): TokenKeys {
  return secrets.map((secret) => deriveKey(`refresh-token ${configKey}`, secret))
}

/** Returns the id of a new session. Its 22 characters are never taken for an ObjectId, which has 24. */
export function createSessionId(): string {
  return randomBytes(SESSION_ID_BYTES).toString('base64url')
}

/** Returns a new token, made by the first key. */
export function createRefreshToken(
  { sessionId, userId, generation }: Pick<RefreshToken, 'sessionId' | 'userId' | 'generation'>,
  [key = new Uint8Array()]: TokenKeys,
): RefreshToken {
  const user = Buffer.from(userId).toString('base64url')
  const head = `${sessionId}.${createRandom()}.${user}.${generation}`
  const text = `${head}.${createCode(head, key)}`
  return { text, sessionId, userId, generation, hash: hashString(text) }
}

/** Returns a token that one of the keys has made, `null` for anything else. */
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

/** Returns the parts of a token, whose code is not checked here; `null` for another form. */
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

/** Returns the claim `jti` of the access token beside a refresh token: the same for each repeat. */
export function toTokenId({ text }: RefreshToken): string {
  return hashString(`jti ${text}`).slice(0, 22)
}

/**
 * Returns a token encrypted by a key from the one before it: whoever repeats a refresh because its answer was lost
 * has that one.
 * @param lifetime seconds after which nobody can read it
 */
export function sealSuccessor(
  { text }: RefreshToken,
  before: RefreshToken,
  lifetime: number,
): string {
  return sealData('session-successor', { text }, toSealKey(before), lifetime)
}

/** Returns the token that was sealed; `null` where another one came before it, or its lifetime is over. */
export function openSuccessor(sealed: string, before: RefreshToken): RefreshToken | null {
  const data = findSealed('session-successor', sealed, [toSealKey(before)])
  return typeof data === 'string' ? null : parseToken(String(data['text']))
}

/** Returns 32 bytes that follow from a token, and not from its stored hash. The token is random: a hash is enough. */
function toSealKey({ text }: RefreshToken): Uint8Array {
  return createHash('sha256').update(`remex session-successor ${text}`).digest()
}
