import { hasMethod, isObject } from '../../core/value-kind.ts'
import { orUnavailable } from '../auth-errors.ts'
import { BoundedMap } from '../bounded-map.ts'

const STORED = 'The counters of limits'

/** A counter after one increment. */
export interface Counter {
  /** The count, including this increment. */
  readonly count: number
  /** Milliseconds until the counter restarts. */
  readonly remainingMs: number
  /** Takes this increment back. A counter that has restarted since is left unchanged. */
  undo(): unknown
}

/** Returns the whole seconds until a counter restarts, at least one. */
export function toRetrySeconds({ remainingMs }: Counter): number {
  return Math.max(1, Math.ceil(remainingMs / 1000))
}

/** Stores the counters of logins and of rate limits. */
export interface ThrottleStore {
  /**
   * Increments the counter of a key and returns it, as one atomic step. A counter starts at zero, and restarts when its
   * window has passed.
   * @param key at most 100 characters, starting with `account`, `address` or `pair`
   */
  add(key: string, windowMs: number): Counter | Promise<Counter>
  /** Remembers a key for a time from now. */
  remember(key: string, forMs: number): unknown
  /** Returns whether a key is still remembered. */
  isRemembered(key: string): boolean | Promise<boolean>
}

/** A store of `@fastify/rate-limit`, so that its existing stores work here too. */
export interface CallbackStore {
  /** Increments the counter of a key, and calls back with the count and the milliseconds until it restarts. */
  incr(
    key: string,
    callback: (error: Error | null, result?: { current: number; ttl: number }) => void,
    timeWindow: number,
    max: number,
  ): void
}

/** Returns the counters of a store, which may be one of `@fastify/rate-limit`; `null` for any other value. */
export function toCounters(value: unknown): Pick<ThrottleStore, 'add'> | null {
  if (!isObject(value)) return null
  if (!hasMethod(value, 'incr')) {
    return hasMethod(value, 'add') ? (value as unknown as ThrottleStore) : null
  }
  const store = value as unknown as CallbackStore
  const count = (key: string, windowMs: number): Promise<Counter> =>
    new Promise((resolve, reject) => {
      const settle: Parameters<CallbackStore['incr']>[1] = (error, result) => {
        if (error || result === undefined) reject(error)
        else resolve({ count: result.current, remainingMs: result.ttl, undo: () => undefined })
      }
      store.incr(key, settle, windowMs, Number.POSITIVE_INFINITY)
    })
  return { add: (key, windowMs) => orUnavailable(STORED, () => count(key, windowMs)) }
}

/** Enough for 10,000 accounts: each is counted by its name and by the user it finds. */
const MAX_ENTRIES = 20_000

interface StoredCounter {
  count: number
  readonly endsAt: number
}

/** Counters of one process. Their number is limited; the least recently used are dropped. */
export class MemoryThrottleStore implements ThrottleStore {
  // Kept apart: otherwise a caller with many addresses could evict the counters of accounts, and a caller who invents
  // accounts could evict the addresses that owners have logged in from.
  readonly #addresses: BoundedMap<string, StoredCounter>
  readonly #accounts: BoundedMap<string, StoredCounter>
  readonly #kept: BoundedMap<string, number>

  /** @param maxSize the maximum number of addresses, of accounts and of remembered keys, each */
  constructor(maxSize: number = MAX_ENTRIES) {
    this.#addresses = new BoundedMap(maxSize)
    this.#accounts = new BoundedMap(maxSize)
    this.#kept = new BoundedMap(maxSize)
  }

  /** The number of counters. */
  get size(): number {
    return this.#addresses.size + this.#accounts.size
  }

  add(key: string, windowMs: number): Counter {
    const counters = key.startsWith('address') ? this.#addresses : this.#accounts
    // A monotonic clock: the wall clock may be changed while counters run.
    const now = performance.now()
    const stored = counters.get(key)
    const isOver = stored === undefined || stored.endsAt <= now
    const counter = isOver ? { count: 0, endsAt: now + windowMs } : stored
    if (isOver) counters.set(key, counter)
    counter.count += 1
    return {
      count: counter.count,
      remainingMs: counter.endsAt - now,
      undo: () => {
        counter.count -= 1
        // Logins that succeeded or were rejected without a check must not take up room.
        if (counter.count === 0 && counters.get(key) === counter) counters.delete(key)
      },
    }
  }

  remember(key: string, forMs: number): void {
    this.#kept.set(key, performance.now() + forMs)
  }

  isRemembered(key: string): boolean {
    return (this.#kept.get(key) ?? 0) > performance.now()
  }
}

/** The methods of a MongoDB collection that counters need. */
export interface ThrottleCollection {
  /** As that of the driver. */
  findOneAndUpdate(
    filter: object,
    update: object,
    options: { upsert: boolean; returnDocument: 'after' },
  ): Promise<unknown>
  /** As that of the driver. */
  updateOne(filter: object, update: object, options: { upsert: boolean }): Promise<unknown>
  /** As that of the driver. */
  findOne(filter: object): Promise<unknown>
}

/**
 * Counters in a MongoDB collection, which all processes share. Windows start at multiples of their length, and each
 * window has its own document. A TTL index deletes old ones: `createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0
 * })`.
 *
 * Every method throws `Unavailable` if the database fails, as it is then unknown whether a login is within the limits.
 */
export class CollectionThrottleStore implements ThrottleStore {
  readonly #collection: ThrottleCollection

  constructor(collection: ThrottleCollection) {
    this.#collection = collection
  }

  async add(key: string, windowMs: number): Promise<Counter> {
    const now = Date.now()
    const window = Math.floor(now / windowMs)
    const endsAt = (window + 1) * windowMs
    const _id = `${key} ${window}`
    const stored = await orUnavailable(STORED, () =>
      this.#collection.findOneAndUpdate(
        { _id },
        { $inc: { count: 1 }, $set: { expiresAt: new Date(endsAt) } },
        { upsert: true, returnDocument: 'after' },
      ),
    )
    const { count = 0 } = (stored ?? {}) as { count?: number }
    return { count, remainingMs: endsAt - now, undo: () => this.#undo(_id) }
  }

  async remember(key: string, forMs: number): Promise<void> {
    const expiresAt = new Date(Date.now() + forMs)
    await orUnavailable(STORED, () =>
      this.#collection.updateOne({ _id: key }, { $set: { expiresAt } }, { upsert: true }),
    )
  }

  async isRemembered(key: string): Promise<boolean> {
    const filter = { _id: key, expiresAt: { $gt: new Date() } }
    const found = await orUnavailable(STORED, () => this.#collection.findOne(filter))
    return found !== null
  }

  /** Never upserts: a counter that has expired in the meantime would start again below zero. */
  async #undo(_id: string): Promise<void> {
    const filter = { _id, count: { $gt: 0 } }
    await orUnavailable(STORED, () =>
      this.#collection.updateOne(filter, { $inc: { count: -1 } }, { upsert: false }),
    )
  }
}
