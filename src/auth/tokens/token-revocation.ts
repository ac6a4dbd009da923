import { orUnavailable } from '../auth-errors.ts'
import type { AccessTokenPayload } from './token-claims.ts'
import { createTokenError } from './token-claims.ts'
import type { TokenOptions } from './token-options.ts'

/** Records tokens that are no longer valid after a logout. */
export interface RevocationList {
  /**
   * Records a token by its claim `jti`, as one token can be written in several ways.
   * @param expiresAt when the token is rejected anyway and can be forgotten; some minutes after its expiry, to allow
   *   for the clocks of other processes
   */
  revoke(jti: string, expiresAt: Date): unknown
  /** Returns whether a token was revoked. Called on every use of a token. */
  isRevoked(jti: string): boolean | Promise<boolean>
  /**
   * Records an id and returns whether it was new, as one atomic step: of several callers only the first gets `true`.
   * Without this method, two processes may both be the first.
   */
  claim?(jti: string, expiresAt: Date): boolean | Promise<boolean>
}

const MAX_REVOKED = 100_000

/** A revocation list for one process, which forgets everything when the process ends. */
export class MemoryRevocationList implements RevocationList {
  readonly #expiries = new Map<string, number>()
  readonly #maxSize: number

  /** @param maxSize when the list is full, the oldest token is forgotten */
  constructor(maxSize: number = MAX_REVOKED) {
    this.#maxSize = maxSize
  }

  /** The number of revoked tokens. */
  get size(): number {
    return this.#expiries.size
  }

  revoke(jti: string, expiresAt: Date): void {
    if (this.#expiries.size >= this.#maxSize) this.#makeRoom()
    this.#expiries.set(jti, expiresAt.getTime())
  }

  isRevoked(jti: string): boolean {
    return this.#expiries.has(jti)
  }

  claim(jti: string, expiresAt: Date): boolean {
    if (this.#expiries.has(jti)) return false
    this.revoke(jti, expiresAt)
    return true
  }

  #makeRoom(): void {
    const now = Date.now()
    for (const [jti, expiry] of this.#expiries) if (expiry <= now) this.#expiries.delete(jti)
    for (const jti of this.#expiries.keys()) {
      if (this.#expiries.size < this.#maxSize) return
      this.#expiries.delete(jti)
    }
  }
}

const STORED = 'The list of revoked tokens'

/** The methods of a MongoDB collection that a revocation list needs. */
export interface RevocationCollection {
  /** As that of the driver. */
  updateOne(filter: object, update: object, options: { upsert: boolean }): Promise<unknown>
  /** As that of the driver. */
  findOne(filter: object): Promise<unknown>
}

/**
 * A revocation list in a MongoDB collection, which all processes share and which outlives them. A TTL index deletes old
 * entries: `createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })`. Its methods throw `Unavailable` if the database
 * fails, as it is then unknown whether a token was revoked.
 */
export class CollectionRevocationList implements RevocationList {
  readonly #collection: RevocationCollection

  constructor(collection: RevocationCollection) {
    this.#collection = collection
  }

  async revoke(jti: string, expiresAt: Date): Promise<void> {
    await this.#upsert(jti, { $set: { expiresAt } })
  }

  async isRevoked(jti: string): Promise<boolean> {
    const found = await orUnavailable(STORED, () => this.#collection.findOne({ _id: jti }))
    return found !== null
  }

  async claim(jti: string, expiresAt: Date): Promise<boolean> {
    const result = await this.#upsert(jti, { $setOnInsert: { expiresAt } })
    return (result as { upsertedCount?: unknown } | null)?.upsertedCount === 1
  }

  #upsert(_id: string, update: object): Promise<unknown> {
    return orUnavailable(STORED, () =>
      this.#collection.updateOne({ _id }, update, { upsert: true }),
    )
  }
}

/**
 * Marks a single-use id as used, and returns whether this was its first use.
 * @param exp seconds since the epoch after which the id is rejected anyway
 */
export async function claimOnce(list: RevocationList, id: string, exp: number): Promise<boolean> {
  const expiresAt = new Date((exp + CLOCK_MARGIN_SECONDS) * 1000)
  if (list.claim !== undefined) return list.claim(id, expiresAt)
  if (await list.isRevoked(id)) return false
  await list.revoke(id, expiresAt)
  return true
}

/** The maximum clock difference between the processes that share a list, and the database. */
const CLOCK_MARGIN_SECONDS = 300

/**
 * Revokes a token until it would be rejected everywhere anyway.
 * @param options those that the token may be verified with: with a `clockTolerance` it is accepted for some time after
 *   its expiry
 */
export async function revokeToken(
  list: RevocationList,
  { jti, exp }: AccessTokenPayload,
  ...options: (TokenOptions | undefined)[]
): Promise<void> {
  const tolerance = Math.max(0, ...options.map((one) => one?.clockTolerance ?? 0))
  await list.revoke(jti, new Date((exp + tolerance + CLOCK_MARGIN_SECONDS) * 1000))
}

/** @throws {NotAuthenticated} the token was revoked */
export async function checkRevoked(
  list: RevocationList,
  { jti, sub }: AccessTokenPayload,
): Promise<void> {
  // The cause is for the log only: it says whose token is still being used.
  if (await list.isRevoked(jti)) throw createTokenError('jwt was revoked', { jti, sub })
}
