import type { Document } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import { sizeOf } from './changes.ts'
import type { Clock, Collection, Owner, View } from './collection.ts'
import { Layer } from './collection.ts'

const LIFETIME_MS = 60_000

/**
 * A transaction sees a snapshot of the moment it began, overlaid with its own writes. It locks the records it
 * writes. Another transaction that writes one of them gets a write conflict (112), and so does a transaction
 * that writes a record changed since its snapshot.
 */
export class Transaction implements Owner {
  readonly ended: Promise<void>
  readonly #clock: Clock
  /** The state at the snapshot of records that others changed since. */
  readonly #past: Map<Collection, Layer> = new Map()
  /** How much of the clock's history `#past` already covers. */
  #read: number
  readonly written: Set<Collection> = new Set()
  readonly #expiry: NodeJS.Timeout
  /** The BSON bytes that it has written. */
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
    const pending = (): Layer | undefined => collection.pending.get(this)
    const layers = (): Layer[] =>
      [pending() ?? [], past, collection].flat().filter(({ records }) => records.size > 0)
    const get = (key: string): Document | undefined =>
      layers()
        .find(({ records }) => records.has(key))
        ?.records.get(key)
    /** @throws {CommandError} 112, 11000 a unique key of the document is taken */
    const checkUnique = (key: string, document: Document, own: Layer): void => {
      if (collection.claimantOf(key, document, this) !== undefined) throw writeConflict()
      for (const index of collection.uniqueIndexes.values()) {
        for (const values of index.keysOf(document)) {
          const holder = collection.holderOf(index, values, key)
          const seen = index.keysOf(holder === undefined ? undefined : get(holder))
          const isHeld = seen.some((one) => index.compare(one, values) === 0)
          if (isHeld || own.holderOf(index, values, key) !== undefined) {
            throw collection.duplicate(index, values)
          }
          // The key was taken or freed after the snapshot: this transaction cannot see that, and must not
          // take it.
          const isTaken = holder !== undefined && !own.records.has(holder)
          if (isTaken || past.holderOf(index, values, key) !== undefined) throw writeConflict()
        }
      }
    }
    const write = (key: string, document: Document | undefined): void => {
      if (past.records.has(key) || collection.ownerOf(key, this) !== undefined)
        throw writeConflict()
      const own = pending() ?? new Layer()
      if (document !== undefined) {
        collection.checkIndexable(document)
        checkUnique(key, document, own)
      }
      this.#reserve(sizeOf(document) - sizeOf(own.records.get(key)))
      this.#clock.time += 1
      own.set(key, document, collection.places.get(key) ?? this.#clock.time)
      collection.pending.set(this, own)
      this.written.add(collection)
    }
    return {
      collection,
      get,
      layers,
      *entries() {
        const places = new Map(
          layers()
            .toReversed()
            .flatMap((layer) => [...layer.places]),
        )
        for (const [key] of [...places].sort(([, a], [, b]) => a - b)) {
          const document = get(key)
          if (document !== undefined) yield [key, document]
        }
      },
      // A transaction never waits: its write fails if another one holds the lock.
      check: () => undefined,
      put: write,
      remove: (key) => write(key, undefined),
    }
  }

  commit(): void {
    this.#reserve(-this.#bytes)
    for (const collection of this.written) {
      const entries = collection.pending.get(this)?.records ?? []
      for (const [key, document] of entries) collection.apply(key, document)
    }
    this.abort()
  }

  /** Discards uncommitted writes and releases the locks. */
  abort(): void {
    clearTimeout(this.#expiry)
    for (const collection of this.written) collection.pending.delete(this)
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

  /** Returns the records that others have changed since the snapshot, as they were at the snapshot. */
  #changedSince(collection: Collection): Layer {
    const { history } = this.#clock
    for (const change of history.slice(this.#read)) {
      const past = this.#past.get(change.collection) ?? new Layer()
      if (!past.records.has(change.key)) past.set(change.key, change.before, change.place)
      this.#past.set(change.collection, past)
    }
    this.#read = history.length
    return this.#past.get(collection) ?? new Layer()
  }
}

function writeConflict(): CommandError {
  return new CommandError(112, 'Write conflict during plan execution, please retry the transaction')
}
