import { BoundedMap } from './bounded-map.ts'

/** A counter after something was added to it. */
export interface Counter {
  readonly count: number
  /** Milliseconds until it begins anew. */
  readonly remainingMs: number
}

/** Where counters of logins are kept. Keys are texts of at most 100 characters. */
export interface ThrottleStore {
  /**
   * Adds to the counter of a key and returns it, as one atomic step. A counter begins at zero, and
   * again when its window has passed; `amount` may be negative.
   */
  add(key: string, amount: number, windowMs: number): Counter | Promise<Counter>
  /** Keeps a key for a time, from now on. */
  remember(key: string, forMs: number): unknown
  /** Whether a key is being kept. */
  isRemembered(key: string): boolean | Promise<boolean>
}

const MAX_ENTRIES = 10_000

interface StoredCounter {
  count: number
  readonly endsAt: number
}

/** Counters of one process. There is a limited number of them; the least used are forgotten. */
export class MemoryThrottleStore implements ThrottleStore {
  readonly #counters: BoundedMap<string, StoredCounter>
  // Apart, or counters of made-up accounts would push out what good logins have earned.
  readonly #kept: BoundedMap<string, number>

  /** @param maxSize how many counters there are at most, and how many kept keys */
  constructor(maxSize: number = MAX_ENTRIES) {
    this.#counters = new BoundedMap(maxSize)
    this.#kept = new BoundedMap(maxSize)
  }

  /** How many counters there are. */
  get size(): number {
    return this.#counters.size
  }

  add(key: string, amount: number, windowMs: number): Counter {
    // Not the wall clock, which may be set while counters run.
    const now = performance.now()
    const stored = this.#counters.get(key)
    const counter =
      stored === undefined || stored.endsAt <= now ? { count: 0, endsAt: now + windowMs } : stored
    counter.count = Math.max(0, counter.count + amount)
    if (counter !== stored) this.#counters.set(key, counter)
    return { count: counter.count, remainingMs: counter.endsAt - now }
  }

  remember(key: string, forMs: number): void {
    this.#kept.set(key, performance.now() + forMs)
  }

  isRemembered(key: string): boolean {
    return (this.#kept.get(key) ?? 0) > performance.now()
  }
}

/** The part of a MongoDB collection that counters need. */
export interface ThrottleCollection {
  findOneAndUpdate(
    filter: object,
    update: object,
    options: { upsert: boolean; returnDocument: 'after' },
  ): Promise<unknown>
  updateOne(filter: object, update: object, options: { upsert: boolean }): Promise<unknown>
  findOne(filter: object): Promise<unknown>
}

/**
 * Counters in a MongoDB collection, which all processes share. Windows begin at multiples of their
 * length. A TTL index lets the database forget:
 * `createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })`.
 */
export class CollectionThrottleStore implements ThrottleStore {
  readonly #collection: ThrottleCollection

  constructor(collection: ThrottleCollection) {
    this.#collection = collection
  }

  async add(key: string, amount: number, windowMs: number): Promise<Counter> {
    const now = Date.now()
    const window = Math.floor(now / windowMs)
    const endsAt = (window + 1) * windowMs
    const counter = await this.#collection.findOneAndUpdate(
      { _id: `${key} ${window}` },
      { $inc: { count: amount }, $set: { expiresAt: new Date(endsAt) } },
      { upsert: true, returnDocument: 'after' },
    )
    return { count: toCount(counter), remainingMs: endsAt - now }
  }

  async remember(key: string, forMs: number): Promise<void> {
    const expiresAt = new Date(Date.now() + forMs)
    await this.#collection.updateOne({ _id: key }, { $set: { expiresAt } }, { upsert: true })
  }

  async isRemembered(key: string): Promise<boolean> {
    const filter = { _id: key, expiresAt: { $gt: new Date() } }
    return (await this.#collection.findOne(filter)) !== null
  }
}

function toCount(document: unknown): number {
  const { count } = (document ?? {}) as { count?: unknown }
  return typeof count === 'number' ? Math.max(0, count) : 0
}
