import { orUnavailable } from '../auth-errors.ts'
import type { AccessTokenPayload } from './token-claims.ts'
import { createTokenError } from './token-claims.ts'
import type { TokenOptions } from './token-options.ts'

/** Where a logout notes that a token is no longer valid. */
export interface RevocationList {
  /**
   * Notes a token by its claim `jti`: one token can be written in several ways.
   * @param expiresAt from when on the token is refused anyway and can be forgotten; some minutes
   * after its expiry, for the clocks of other processes
   */
  revoke(jti: string, expiresAt: Date): unknown
  /** Whether a token was noted. Asked on every use of a token. */
  isRevoked(jti: string): boolean | Promise<boolean>
  /**
   * Notes an id in one step with looking whether it was noted. Returns whether it was not: only the
   * first of several callers is told `true`. Without it, two processes may both be the first.
   */
  claim?(jti: string, expiresAt: Date): boolean | Promise<boolean>
}

const MAX_REVOKED = 100_000

/** A revocation list for one process, which forgets everything when the process ends. */
export class MemoryRevocationList implements RevocationList {
  readonly #expiries = new Map<string, number>()
  readonly #maxSize: number

  /** @param maxSize when there are as many, the oldest is forgotten */
  constructor(maxSize: number = MAX_REVOKED) {
    this.#maxSize = maxSize
  }

  /** How many tokens are noted. */
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

/** The part of a MongoDB collection that a revocation list needs. */
export interface RevocationCollection {
  /** As that of the driver. */
  updateOne(filter: object, update: object, options: { upsert: boolean }): Promise<unknown>
  /** As that of the driver. */
  findOne(filter: object): Promise<unknown>
}

/**
 * A revocation list in a MongoDB collection, which all processes share and which outlives them.
 * A TTL index lets the database forget:
 * `createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })`. Its methods throw `Unavailable` where
 * the database fails: whether a token was revoked is not known then.
 */
export class CollectionRevocationList implements RevocationList {
  readonly #collection: RevocationCollection

  constructor(collection: RevocationCollection) {
    this.#collection = collection
  }

  async revoke(jti: string, expiresAt: Date): Promise<void> {
    const update = { $set: { expiresAt } }
    await orUnavailable(STORED, () =>
      this.#collection.updateOne({ _id: jti }, update, { upsert: true }),
    )
  }

  async isRevoked(jti: string): Promise<boolean> {
    const found = await orUnavailable(STORED, () => this.#collection.findOne({ _id: jti }))
    return found !== null
  }

  async claim(jti: string, expiresAt: Date): Promise<boolean> {
    const update = { $setOnInsert: { expiresAt } }
    const result = await orUnavailable(STORED, () =>
      this.#collection.updateOne({ _id: jti }, update, { upsert: true }),
    )
    return (result as { upsertedCount?: unknown } | null)?.upsertedCount === 1
  }
}

/**
 * Notes what may be used once only, and returns whether this was the first time.
 * @param exp from when on it is refused anyway, in seconds
 */
export async function claimOnce(list: RevocationList, id: string, exp: number): Promise<boolean> {
  const expiresAt = new Date((exp + CLOCK_MARGIN_SECONDS) * 1000)
  if (list.claim !== undefined) return list.claim(id, expiresAt)
  if (await list.isRevoked(id)) return false
  await list.revoke(id, expiresAt)
  return true
}

/** By how much the clocks of the processes that share a list, and of the database, may differ. */
const CLOCK_MARGIN_SECONDS = 300

/**
 * Notes a token until it is rejected everywhere, revoked or not.
 * @param options those that the token may be verified by: with a `clockTolerance` it is accepted
 *   for some time after its expiry
 */
export async function revokeToken(
  list: RevocationList,
  { jti, exp }: AccessTokenPayload,
  ...options: (TokenOptions | undefined)[]
): Promise<void> {
  const tolerance = Math.max(0, ...options.map((one) => one?.clockTolerance ?? 0))
  await list.revoke(jti, new Date((exp + tolerance + CLOCK_MARGIN_SECONDS) * 1000))
}

/** @throws {NotAuthenticated} a token was revoked */
export async function checkRevoked(
  list: RevocationList,
  { jti, sub }: AccessTokenPayload,
): Promise<void> {
  // The cause is for the log only: it says whose token somebody still uses.
  if (await list.isRevoked(jti)) throw createTokenError('jwt was revoked', { jti, sub })
}
