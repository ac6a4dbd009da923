import type { Document } from 'bson'
import { CommandError } from '../errors.ts'
import { sizeOf } from './changes.ts'
import type { Clock, Collection, Owner, View } from './collection.ts'
import { Overlay } from './collection.ts'

const LIFETIME_MS = 60_000

/**
 * A transaction sees a snapshot of the moment it began, with its own writes laid over it. It locks
 * the records it writes. Another transaction that writes one of them, or any that writes a record
 * which has changed since its snapshot, gets a write conflict (112).
 */
export class Transaction implements Owner {
  readonly ended: Promise<void>
  readonly #clock: Clock
  /** What the records that others have changed since were at its snapshot. */
  readonly #past: Map<Collection, Overlay> = new Map()
  /** How much of the clock's history is in `#past`, or was before. */
  #read: number
  readonly #written: Set<Collection> = new Set()
  readonly #expiry: NodeJS.Timeout
  /** The BSON bytes of what it has written. */
  #bytes = 0
  #markEnded: () => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#read = clock.history.length
    this.ended = new Promise((resolve) => {
      this.#markEnded = resolve
    })
    this.#expiry = setTimeout(() => this.abort(), LIFETIME_MS).unref()
    clock.open.add(this)
  }

  get isOpen(): boolean {
    return this.#clock.open.has(this)
  }

  view(collection: Collection): View {
    const past = this.#changedSince(collection)
    const pending = (): Overlay | undefined => collection.pending.get(this)
    const get = (key: string): Document | undefined => {
      const own = pending()?.records
      if (own?.has(key)) return own.get(key)
      return (past.records.has(key) ? past : collection).records.get(key)
    }
    const write = (key: string, document: Document | undefined): void => {
      if (past.records.has(key) || collection.ownerOf(key, this) !== undefined)
        throw writeConflict()
      const own = pending() ?? new Overlay()
      if (document !== undefined) {
        collection.checkIndexable(document)
        this.#checkUnique(collection, key, document, { past, own, get })
      }
      this.#reserve(sizeOf(document) - sizeOf(own.records.get(key)))
      own.set(key, document, collection)
      collection.pending.set(this, own)
      this.#written.add(collection)
    }
    return {
      collection,
      get,
      *entries() {
        const keys = [
          ...collection.records.keys(),
          ...past.records.keys(),
          ...(pending()?.records.keys() ?? []),
        ]
        for (const key of new Set(keys)) {
          const document = get(key)
          if (document !== undefined) yield [key, document]
        }
      },
      // Of the records that others have changed since, each may have had any key.
      holdersOf: (index, indexKey) => [
        index.holders.get(indexKey),
        pending()?.holderOf(index, indexKey),
        ...past.records.keys(),
      ],
      // A transaction never waits: its write fails where another one holds the lock.
      check: () => undefined,
      put: write,
      remove: (key) => write(key, undefined),
    }
  }

  commit(): void {
    this.#reserve(-this.#bytes)
    for (const collection of this.#written) {
      const entries = collection.pending.get(this)?.records ?? []
      for (const [key, document] of entries) collection.apply(key, document)
    }
    this.abort()
  }

  /** Forgets what has not been committed and releases the locks. */
  abort(): void {
    clearTimeout(this.#expiry)
    for (const collection of this.#written) collection.pending.delete(this)
    this.#past.clear()
    this.#clock.open.delete(this)
    this.#reserve(-this.#bytes)
    if (this.#clock.open.size === 0) {
      for (const { before } of this.#clock.history) this.#clock.changes.reserve(-sizeOf(before))
      this.#clock.history.length = 0
    }
    this.#markEnded()
  }

  #reserve(growth: number): void {
    this.#clock.changes.reserve(growth)
    this.#bytes += growth
  }

  /** Returns what the records that others changed since the snapshot were at that time. */
  #changedSince(collection: Collection): Overlay {
    const { history } = this.#clock
    for (const change of history.slice(this.#read)) {
      const past = this.#past.get(change.collection) ?? new Overlay()
      if (!past.records.has(change.key)) past.set(change.key, change.before, change.collection)
      this.#past.set(change.collection, past)
    }
    this.#read = history.length
    return this.#past.get(collection) ?? new Overlay()
  }

  #checkUnique(
    collection: Collection,
    key: string,
    document: Document,
    { past, own, get }: Snapshot,
  ): void {
    if (collection.claimantOf(key, document, this) !== undefined) throw writeConflict()
    for (const index of collection.uniqueIndexes.values()) {
      for (const [indexKey, values] of index.keysOf(document)) {
        const holder = index.holders.get(indexKey)
        const seen = holder === undefined || holder === key ? undefined : get(holder)
        const isHeld = seen !== undefined && index.keysOf(seen).has(indexKey)
        const taker = own.holderOf(index, indexKey) ?? key
        if (isHeld || taker !== key) throw collection.duplicate(index.spec, values)
        // Taken or left after the snapshot: this transaction can not see that, and must not take it.
        const isTaken = holder !== undefined && holder !== key && !own.records.has(holder)
        if (isTaken || past.holderOf(index, indexKey) !== undefined) throw writeConflict()
      }
    }
  }
}

interface Snapshot {
  readonly past: Overlay
  readonly own: Overlay
  readonly get: View['get']
}

function writeConflict(): CommandError {
  return new CommandError(112, 'Write conflict during plan execution, please retry the transaction')
}
