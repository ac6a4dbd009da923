import { Unavailable } from '../../core/index.ts'
import { BoundedMap } from '../bounded-map.ts'

/** A counter after one was added to it. */
export interface Counter {
  readonly count: number
  /** Milliseconds until it begins anew. */
  readonly remainingMs: number
  /** Takes the one back from this very counter: from none that has begun anew since. */
  undo(): unknown
}

/** Where counters of logins are kept. */
export interface ThrottleStore {
  /**
   * Adds one to the counter of a key and returns it, as one atomic step. A counter begins at zero,
   * and again when its window has passed.
   * @param key a text of at most 100 characters, which begins with `account`, `address` or `pair`
   */
  add(key: string, windowMs: number): Counter | Promise<Counter>
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
  // Apart, or those who have many addresses could push out the counters of accounts, and made-up
  // accounts what good logins have earned.
  readonly #addresses: BoundedMap<string, StoredCounter>
  readonly #accounts: BoundedMap<string, StoredCounter>
  readonly #kept: BoundedMap<string, number>

  /** @param maxSize how many addresses, accounts and kept keys there are at most, of each kind */
  constructor(maxSize: number = MAX_ENTRIES) {
    this.#addresses = new BoundedMap(maxSize)
    this.#accounts = new BoundedMap(maxSize)
    this.#kept = new BoundedMap(maxSize)
  }

  /** How many counters there are. */
  get size(): number {
    return this.#addresses.size + this.#accounts.size
  }

  add(key: string, windowMs: number): Counter {
    const counters = key.startsWith('address') ? this.#addresses : this.#accounts
    // Not the wall clock, which may be set while counters run.
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
        // Room for others: right logins and refused ones leave nothing behind.
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
 * length, and each has a document of its own. A TTL index lets the database forget:
 * `createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })`.
 *
 * Every method throws `Unavailable` while the database does.
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
    const counter = await reach(
      this.#collection.findOneAndUpdate(
        { _id },
        { $inc: { count: 1 }, $set: { expiresAt: new Date(endsAt) } },
        { upsert: true, returnDocument: 'after' },
      ),
    )
    return { count: toCount(counter), remainingMs: endsAt - now, undo: () => this.#undo(_id) }
  }

  async remember(key: string, forMs: number): Promise<void> {
    const expiresAt = new Date(Date.now() + forMs)
    await reach(this.#collection.updateOne({ _id: key }, { $set: { expiresAt } }, { upsert: true }))
  }

  async isRemembered(key: string): Promise<boolean> {
    const filter = { _id: key, expiresAt: { $gt: new Date() } }
    return (await reach(this.#collection.findOne(filter))) !== null
  }

  /** A document that is gone isn't made anew: it would begin below zero. */
  async #undo(_id: string): Promise<void> {
    const filter = { _id, count: { $gt: 0 } }
    await reach(this.#collection.updateOne(filter, { $inc: { count: -1 } }, { upsert: false }))
  }
}

/** @throws {Unavailable} the command failed: whether the login is right can't be told */
async function reach<T>(command: Promise<T>): Promise<T> {
  try {
    return await command
  } catch (cause) {
    throw new Unavailable('The counters of logins are away', { retryAfter: 1 }, { cause })
  }
}

function toCount(document: unknown): number {
  const { count } = (document ?? {}) as { count?: unknown }
  return typeof count === 'number' ? count : 0
}
