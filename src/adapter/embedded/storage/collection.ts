import type { Document } from 'bson'
import { EMPTY_ARRAY } from '../../matching/bson-type.ts'
import type { Collation } from '../../matching/compare.ts'
import { keyOf } from '../../matching/compare.ts'
import { duplicateKey } from '../errors.ts'
import { createCollation } from '../protocol/collation-option.ts'
import type { SortedList } from '../sorted-list.ts'
import type { Changes } from './changes.ts'
import { sizeOf } from './changes.ts'
import type { IndexEntry, IndexKey } from './index-keys.ts'
import { IndexKeys } from './index-keys.ts'
import { isTextIndex, TextIndex } from './text-index.ts'

/** The documents one command sees and changes: a collection, or a transaction's view of it. */
export interface View {
  readonly collection: Collection
  readonly get: (key: string) => Document | undefined
  readonly entries: () => Iterable<[string, Document]>
  /** Returns the layers of the view: the first layer that has a record decides. */
  readonly layers: () => readonly Layer[]
  /** @throws {LockedError} the write would have to wait for a transaction */
  readonly check: (key: string, document: Document | undefined) => void
  /** Stores a document that is never changed afterwards. */
  readonly put: (key: string, document: Document) => void
  readonly remove: (key: string) => void
}

/** Records by key, with their index entries: a collection, or a layer over one. */
export class Layer {
  /** `undefined` is a removed record, even if a layer below has it. */
  readonly records: Map<string, Document | undefined> = new Map()
  /** The place of each record in the natural order. */
  readonly places: Map<string, number> = new Map()
  /** The entries of the indexes that were asked for. */
  readonly lists: Map<IndexKeys, SortedList<IndexEntry>> = new Map()

  /** Sets a record; an existing one keeps its place. */
  set(key: string, document: Document | undefined, newPlace: number): void {
    const place = this.places.get(key) ?? newPlace
    for (const [index, list] of this.lists) {
      for (const values of index.keysOf(this.records.get(key))) list.remove({ values, key, place })
      for (const values of index.keysOf(document)) list.add({ values, key, place })
    }
    this.places.set(key, place)
    this.records.set(key, document)
  }

  /** Returns the index entries of all records, and maintains them from now on. */
  entriesOf(index: IndexKeys): SortedList<IndexEntry> {
    const known = this.lists.get(index)
    if (known !== undefined) return known
    const entries = Array.from(this.records, ([key, document]) => {
      const place = this.places.get(key) ?? 0
      return index.keysOf(document).map((values) => ({ values, key, place }))
    })
    const list = index.createList(entries.flat())
    this.lists.set(index, list)
    return list
  }

  /** Returns the key of another record that has a given index key. */
  holderOf(index: IndexKeys, values: IndexKey, other: string): string | undefined {
    const list = this.entriesOf(index).run((entry) => index.compare(entry.values, values))
    return [...list].find(({ key }) => key !== other)?.key
  }

  /** Returns an index key of a document that another record already has. */
  takenKey(index: IndexKeys, key: string, document: Document): IndexKey | undefined {
    return index.keysOf(document).find((one) => this.holderOf(index, one, key) !== undefined)
  }
}

/** Shared by all collections of a server: the count of writes, which identifies snapshots. */
export interface Clock {
  time: number
  readonly changes: Changes
  /** The open transactions. */
  readonly open: Set<Owner>
  /** What each write replaced, as long as an open transaction may need it. */
  readonly history: {
    readonly collection: Collection
    readonly key: string
    readonly before: Document | undefined
    readonly place: number
  }[]
}

/** One collection: records by the key of their `_id`, in the order of their insertion. */
export class Collection extends Layer implements View {
  readonly collection: Collection = this
  readonly namespace: string
  readonly options: Document
  readonly collation: Collation | undefined
  readonly indexes: Map<string, Document> = new Map()
  /** All indexes but the one for texts. */
  readonly keyIndexes: Map<string, IndexKeys> = new Map()
  /** The unique indexes, except that of the `_id`. */
  readonly uniqueIndexes: Map<string, IndexKeys> = new Map()
  /** At most one. */
  textIndex: TextIndex | undefined
  /** Writes of open transactions: they lock the records and claim the unique keys they name. */
  readonly pending: Map<Owner, Layer> = new Map()
  /** Whether the store has it: a missing collection reads as an empty one. */
  isStored = false
  /** Adds it to the store. Called before its first record is written. */
  enter: () => void = () => undefined
  /** The BSON bytes of its records. */
  bytes = 0
  readonly #clock: Clock

  constructor(namespace: string, options: Document, clock: Clock) {
    super()
    this.namespace = namespace
    this.options = options
    this.collation = createCollation(options.collation)
    this.#clock = clock
    const spec = { v: 2, key: { _id: 1 }, name: '_id_' }
    this.indexes.set('_id_', spec)
    this.#addKeyIndex({ ...spec, collation: options.collation })
  }

  /** Returns the key of the record with this `_id`. */
  keyOf(id: unknown): string {
    return keyOf(id, this.collation)
  }

  get(key: string): Document | undefined {
    return this.records.get(key)
  }

  entries(): Iterable<[string, Document]> {
    // No layer lies below a collection, so it has no `undefined` records.
    return this.records as Map<string, Document>
  }

  layers(): readonly Layer[] {
    return [this]
  }

  check(key: string, document: Document | undefined): void {
    const claimant = document === undefined ? undefined : this.claimantOf(key, document)
    const owner = this.ownerOf(key) ?? claimant
    if (owner !== undefined) throw new LockedError(owner)
  }

  put(key: string, document: Document): void {
    this.check(key, document)
    this.checkIndexable(document)
    for (const index of this.uniqueIndexes.values()) {
      const taken = this.takenKey(index, key, document)
      if (taken !== undefined) throw this.duplicate(index, taken)
    }
    this.apply(key, document)
  }

  remove(key: string): void {
    this.check(key, undefined)
    this.apply(key, undefined)
  }

  /** @throws {CommandError} 171, 17261, 17262 an index cannot hold the document */
  checkIndexable(document: Document): void {
    this.textIndex?.textsOf(document)
    // Only an index on several fields can reject documents.
    for (const index of this.keyIndexes.values())
      if (index.fields.length > 1) index.keysOf(document)
  }

  /** Writes or removes a record whose locks and unique keys have been checked. */
  apply(key: string, document: Document | undefined): void {
    const clock = this.#clock
    const before = this.records.get(key)
    if (!this.isStored) this.enter()
    this.#report(before, document)
    clock.time += 1
    const place = this.places.get(key) ?? clock.time
    if (clock.open.size > 0) clock.history.push({ collection: this, key, before, place })
    this.set(key, document, place)
    if (document !== undefined) return
    this.records.delete(key)
    this.places.delete(key)
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

  /** Yields the changes that would recreate it. */
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
    const list = this.entriesOf(index)
    let last: IndexKey | undefined
    for (const { values } of spec.unique === true ? list.run(() => 0) : []) {
      const isDuplicate = last !== undefined && index.compare(last, values) === 0
      if (isDuplicate) this.lists.delete(index)
      if (isDuplicate) throw this.duplicate(index, values)
      last = values
    }
    this.keyIndexes.set(spec.name, index)
    if (spec.unique === true) this.uniqueIndexes.set(spec.name, index)
  }

  removeIndex(name: string): void {
    this.checkUnlocked()
    if (this.isStored) this.#clock.changes.record({ ns: this.namespace, dropIndex: name })
    this.indexes.delete(name)
    for (const index of this.lists.keys()) if (index.spec.name === name) this.lists.delete(index)
    this.keyIndexes.delete(name)
    this.uniqueIndexes.delete(name)
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
      for (const [owner, pending] of this.pending) {
        if (owner !== self && pending.takenKey(index, key, document) !== undefined) return owner
      }
    }
    return undefined
  }

  /** Returns MongoDB's error for a unique key that is taken. */
  duplicate({ spec, fields }: IndexKeys, values: IndexKey): Error {
    const shown = values.map((value) => (value === EMPTY_ARRAY ? null : (value ?? null)))
    const keyValue = Object.fromEntries(fields.map(({ path }, at) => [path, shown[at]]))
    return duplicateKey(this.namespace, spec.name, spec.key, keyValue)
  }

  #addTextIndex(spec: Document): void {
    const index = new TextIndex(spec)
    for (const [, document] of this.entries()) index.textsOf(document)
    this.textIndex = index
  }
}

/** A transaction with records that no other call may write until it ends. */
export interface Owner {
  readonly ended: Promise<void>
  /** The collections with its records. */
  readonly written: ReadonlySet<Collection>
}

/** A record is locked by an open transaction: a plain write has to wait for its end. */
export class LockedError extends Error {
  readonly owner: Owner

  constructor(owner: Owner) {
    super('The record is locked by a transaction')
    this.owner = owner
  }
}

/** Returns the result of `write`, which is called again after each transaction that blocks it. */
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
