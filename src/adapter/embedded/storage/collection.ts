import type { Document } from 'bson'
import { duplicateKey } from '../errors.ts'
import { createCollation } from '../protocol/collation-option.ts'
import type { Collation } from '../values/compare.ts'
import { keyOf } from '../values/compare.ts'
import type { Changes } from './changes.ts'
import { sizeOf } from './changes.ts'
import type { Holders } from './index-keys.ts'
import { IndexKeys } from './index-keys.ts'
import { isTextIndex, TextIndex } from './text-index.ts'

/** The documents one command sees and changes: a collection, or a transaction's view of it. */
export interface View {
  readonly collection: Collection
  readonly get: (key: string) => Document | undefined
  readonly entries: () => Iterable<[string, Document]>
  /** Returns the keys of all records that may have a key in a unique index. */
  readonly holdersOf: (index: IndexKeys, indexKey: string) => Iterable<string | undefined>
  /** @throws {LockedError} the write would have to wait for a transaction */
  readonly check: (key: string, document: Document | undefined) => void
  /** Stores a document that is never changed afterwards. */
  readonly put: (key: string, document: Document) => void
  readonly remove: (key: string) => void
}

/** Records by their keys as a transaction sees them, and which of them have which unique keys. */
export class Overlay {
  /** `undefined` stands for a record that is not there. */
  readonly records: Map<string, Document | undefined> = new Map()
  readonly #holders: Map<IndexKeys, Holders> = new Map()

  set(key: string, document: Document | undefined, { uniqueIndexes }: Collection): void {
    for (const index of uniqueIndexes.values()) {
      const holders = this.#holders.get(index) ?? new Map()
      index.replace(key, this.records.get(key), document, holders)
      this.#holders.set(index, holders)
    }
    this.records.set(key, document)
  }

  /** Returns the key of the record that has a key of a unique index. */
  holderOf(index: IndexKeys, indexKey: string): string | undefined {
    return this.#holders.get(index)?.get(indexKey)
  }
}

/** What all collections of a server share: the count of writes, by which snapshots are taken. */
export interface Clock {
  time: number
  readonly changes: Changes
  /** The open transactions. */
  readonly open: Set<Owner>
  /** What each write has replaced, as long as a transaction is open that may have to see it. */
  readonly history: {
    readonly collection: Collection
    readonly key: string
    readonly before: Document | undefined
  }[]
}

/** One collection: records by the key of their `_id`, in the order of their insertion. */
export class Collection implements View {
  readonly collection: Collection = this
  readonly namespace: string
  readonly options: Document
  readonly collation: Collation | undefined
  readonly records: Map<string, Document> = new Map()
  readonly indexes: Map<string, Document> = new Map()
  readonly uniqueIndexes: Map<string, IndexKeys> = new Map()
  /** There is one at most. */
  textIndex: TextIndex | undefined
  /** Writes of open transactions: they lock the records and claim the unique keys they name. */
  readonly pending: Map<Owner, Overlay> = new Map()
  /** Whether the store has it: to read a missing collection means to read an empty one. */
  isStored = false
  /** The BSON bytes of its records. */
  bytes = 0
  readonly #clock: Clock
  /** Indexes that are not unique and yet refuse some documents. */
  readonly #checkingIndexes: Map<string, IndexKeys> = new Map()

  constructor(namespace: string, options: Document, clock: Clock) {
    this.namespace = namespace
    this.options = options
    this.collation = createCollation(options.collation)
    this.#clock = clock
    this.indexes.set('_id_', { v: 2, key: { _id: 1 }, name: '_id_' })
  }

  /** Returns the key under which the record with this `_id` is kept. */
  keyOf(id: unknown): string {
    return keyOf(id, this.collation)
  }

  get(key: string): Document | undefined {
    return this.records.get(key)
  }

  entries(): Iterable<[string, Document]> {
    return this.records
  }

  holdersOf(index: IndexKeys, indexKey: string): Iterable<string | undefined> {
    return [index.holders.get(indexKey)]
  }

  check(key: string, document: Document | undefined): void {
    const claimant = document === undefined ? undefined : this.claimantOf(key, document)
    const owner = this.ownerOf(key) ?? claimant
    if (owner !== undefined) throw new LockedError(owner)
  }

  put(key: string, document: Document): void {
    this.check(key, document)
    this.checkIndexable(document)
    for (const index of this.uniqueIndexes.values()) this.#checkKeys(index, key, document)
    this.apply(key, document)
  }

  remove(key: string): void {
    this.check(key, undefined)
    this.apply(key, undefined)
  }

  /** @throws {CommandError} 171, 17261, 17262 an index cannot hold the document */
  checkIndexable(document: Document): void {
    this.textIndex?.textsOf(document)
    for (const index of this.#checkingIndexes.values()) index.keysOf(document)
  }

  /** Writes or removes a record whose locks and unique keys have been checked. */
  apply(key: string, document: Document | undefined): void {
    const before = this.records.get(key)
    const clock = this.#clock
    this.#report(before, document)
    clock.time += 1
    if (clock.open.size > 0) clock.history.push({ collection: this, key, before })
    for (const index of this.uniqueIndexes.values()) index.replace(key, before, document)
    if (document === undefined) this.records.delete(key)
    else this.records.set(key, document)
  }

  #report(before: Document | undefined, document: Document | undefined): void {
    const growth = sizeOf(document) - sizeOf(before)
    if (this.isStored) {
      const { changes, open } = this.#clock
      changes.reserve(open.size > 0 ? sizeOf(document) : growth)
      const change = document === undefined ? { remove: before?._id } : { put: document }
      changes.record({ ns: this.namespace, ...change })
    }
    this.bytes += growth
  }

  /** Yields the changes that would make it what it is. */
  *toChanges(): Generator<Document> {
    const ns = this.namespace
    yield { ns, create: this.options }
    for (const spec of this.indexes.values()) {
      if (spec.name !== '_id_') yield { ns, createIndex: spec }
    }
    for (const [, put] of this.entries()) yield { ns, put }
  }

  /** @throws {CommandError} 11000 two documents have the same key; the index is not added */
  addIndex(spec: Document): void {
    this.checkUnlocked()
    if (isTextIndex(spec)) this.#addTextIndex(spec)
    else this.#addKeyIndex(spec)
    this.indexes.set(spec.name, spec)
    if (this.isStored) this.#clock.changes.record({ ns: this.namespace, createIndex: spec })
  }

  #addKeyIndex(spec: Document): void {
    const index = new IndexKeys(spec)
    if (spec.unique !== true && index.refusesDocuments) {
      for (const document of this.records.values()) index.keysOf(document)
      this.#checkingIndexes.set(spec.name, index)
    }
    if (spec.unique === true) {
      for (const [key, document] of this.records) {
        this.#checkKeys(index, key, document)
        index.replace(key, undefined, document)
      }
      this.uniqueIndexes.set(spec.name, index)
    }
  }

  removeIndex(name: string): void {
    this.checkUnlocked()
    if (this.isStored) this.#clock.changes.record({ ns: this.namespace, dropIndex: name })
    this.indexes.delete(name)
    this.uniqueIndexes.delete(name)
    this.#checkingIndexes.delete(name)
    if (this.textIndex?.spec.name === name) this.textIndex = undefined
  }

  /** @throws {LockedError} an open transaction has written to the collection */
  checkUnlocked(): void {
    for (const owner of this.pending.keys()) throw new LockedError(owner)
  }

  /** Returns the open transaction, other than `self`, that has written a record. */
  ownerOf(key: string, self?: Owner): Owner | undefined {
    for (const [owner, { records }] of this.pending) {
      if (owner !== self && records.has(key)) return owner
    }
    return undefined
  }

  /** Returns the open transaction, other than `self`, that will take a document's unique key. */
  claimantOf(key: string, document: Document, self?: Owner): Owner | undefined {
    if (this.pending.size === 0) return undefined
    for (const index of this.uniqueIndexes.values()) {
      const keys = [...index.keysOf(document).keys()]
      for (const [owner, pending] of this.pending) {
        const holders = owner === self ? [] : keys.map((one) => pending.holderOf(index, one))
        if (holders.some((holder) => holder !== undefined && holder !== key)) return owner
      }
    }
    return undefined
  }

  /** Returns MongoDB's error for a unique key that is taken. */
  duplicate(spec: Document, values: Document): Error {
    return duplicateKey(this.namespace, spec.name, spec.key, values)
  }

  #addTextIndex(spec: Document): void {
    const index = new TextIndex(spec)
    for (const document of this.records.values()) index.textsOf(document)
    this.textIndex = index
  }

  #checkKeys(index: IndexKeys, key: string, document: Document): void {
    for (const [indexKey, values] of index.keysOf(document)) {
      const holder = index.holders.get(indexKey)
      if (holder !== undefined && holder !== key) throw this.duplicate(index.spec, values)
    }
  }
}

/** A transaction with records that nobody else may write until it has ended. */
export interface Owner {
  readonly ended: Promise<void>
}

/** A record is locked by an open transaction: a plain write has to wait for its end. */
export class LockedError extends Error {
  readonly owner: Owner

  constructor(owner: Owner) {
    super('The record is locked by a transaction')
    this.owner = owner
  }
}

/** Returns what `write` returns, which is called again after each transaction that locks it out. */
export async function whenUnlocked<Result>(write: () => Result): Promise<Result> {
  for (;;) {
    try {
      return write()
    } catch (error) {
      if (!(error instanceof LockedError)) throw error
      await error.owner.ended
    }
  }
}
