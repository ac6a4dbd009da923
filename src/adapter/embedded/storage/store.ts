import type { Document } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import { createCollation } from '../protocol/collation-option.ts'
import { Changes } from './changes.ts'
import type { Clock, Owner, View } from './collection.ts'
import { Collection, LockedError } from './collection.ts'
import { select } from './select-records.ts'
import type { Transaction } from './transaction.ts'

/** All databases of one server; a database exists while it has a collection. */
export class Store {
  readonly clock: Clock = { time: 0, changes: new Changes(), open: new Set(), history: [] }
  readonly databases: Map<string, Map<string, Collection>> = new Map()

  /** Returns a collection, `undefined` if there is none. */
  find(database: string, name: string): Collection | undefined {
    return this.databases.get(database)?.get(name)
  }

  /** Returns a collection as a command sees it; one that does not exist is empty. */
  read(database: string, name: string, transaction: Transaction | undefined): View {
    const namespace = `${database}.${name}`
    const collection =
      this.find(database, name) ??
      this.#findPending(namespace)?.collection ??
      new Collection(namespace, {}, this.clock)
    return transaction?.view(collection) ?? collection
  }

  /** Returns a collection for a command that writes. One that does not exist is created with its first record. */
  write(database: string, name: string, transaction: Transaction | undefined): View {
    const { collection } = this.read(database, name, transaction)
    if (!collection.isStored) {
      checkCreation(database, name)
      collection.enter = () => this.put(database, name, collection)
    }
    return transaction?.view(collection) ?? collection
  }

  /** Returns a collection that only open transactions have created so far, and one of these transactions. */
  #findPending(namespace: string): { owner: Owner; collection: Collection } | undefined {
    for (const owner of this.clock.open) {
      for (const collection of owner.written) {
        if (!collection.isStored && collection.namespace === namespace) return { owner, collection }
      }
    }
    return undefined
  }

  create(database: string, name: string, options: Document): Collection {
    const collection = this.createDetached(database, name, options)
    this.put(database, name, collection)
    return collection
  }

  /** Returns a new collection, which `put` may add to the store. */
  createDetached(database: string, name: string, options: Document): Collection {
    checkCreation(database, name)
    return new Collection(`${database}.${name}`, options, this.clock)
  }

  /**
   * Adds a collection, replacing the one with its name.
   * @throws {LockedError} an open transaction is creating another one with this name
   */
  put(database: string, name: string, collection: Collection): void {
    const pending = this.#findPending(collection.namespace)
    if (pending !== undefined && pending.collection !== collection) {
      throw new LockedError(pending.owner)
    }
    const collections = this.databases.get(database) ?? new Map<string, Collection>()
    this.clock.changes.reserve(collection.bytes - (collections.get(name)?.bytes ?? 0))
    for (const change of collection.toChanges()) this.clock.changes.record(change)
    collection.isStored = true
    this.databases.set(database, collections.set(name, collection))
  }

  /** Removes a collection and returns whether there was one. */
  drop(database: string, name: string): boolean {
    const collections = this.databases.get(database)
    const collection = collections?.get(name)
    if (collection === undefined) return false
    collection.checkUnlocked()
    collection.isStored = false
    this.clock.changes.reserve(-collection.bytes)
    this.clock.changes.record({ ns: collection.namespace, drop: true })
    collections?.delete(name)
    if (collections?.size === 0) this.databases.delete(database)
    return true
  }
}

/** @throws {CommandError} 73 a collection cannot have this name */
export function checkNamespace(database: string, name: string): void {
  const isValid = name !== '' && !/[$\0]|^\.|\.$/.test(name)
  if (!isValid || !/^[^/\\. "$\0]{1,63}$/.test(database)) throw invalidNamespace(database, name)
}

/** @throws {CommandError} 73: a collection cannot have this name */
function checkCreation(database: string, name: string): void {
  checkNamespace(database, name)
  if (name.startsWith('system.')) throw invalidNamespace(database, name)
}

function invalidNamespace(database: string, name: string): CommandError {
  return new CommandError(73, `Invalid namespace specified '${database}.${name}'`)
}

/** How often expired records are removed, in ms: as often as MongoDB does. */
const PERIOD_MS = 60_000

const MOST_SECONDS = 2 ** 31 - 1

/** Removes expired records of a store periodically, until the timer is cleared. */
export function startExpiry(store: Store, now: () => number): NodeJS.Timeout {
  return setInterval(() => removeExpired(store, now()), PERIOD_MS).unref()
}

/** @throws {CommandError} 67 records cannot expire by such an index */
export function checkExpiry({ key, expireAfterSeconds }: Document): void {
  if (expireAfterSeconds === undefined) return
  const isCount = Number.isInteger(expireAfterSeconds) && expireAfterSeconds >= 0
  if (!isCount || expireAfterSeconds > MOST_SECONDS) {
    throw new CommandError(67, `expireAfterSeconds must be from 0 to ${MOST_SECONDS}`)
  }
  if (Object.keys(key).length > 1) {
    throw new CommandError(67, 'An index with expireAfterSeconds has one field')
  }
}

function removeExpired({ databases }: Store, now: number): void {
  for (const collections of databases.values()) {
    for (const collection of collections.values()) {
      for (const spec of collection.indexes.values()) {
        if (spec.expireAfterSeconds !== undefined) removeByIndex(collection, spec, now)
      }
    }
  }
}

function removeByIndex(collection: Collection, spec: Document, now: number): void {
  const { key, expireAfterSeconds, partialFilterExpression: partial = {} } = spec
  const [path = ''] = Object.keys(key)
  // Of several dates in a list, the earliest counts; other values never expire.
  const expired = { [path]: { $lte: new Date(now - expireAfterSeconds * 1_000) } }
  const options = {
    collation: createCollation(spec.collation),
    compileExpression: () => () => undefined,
  }
  for (const { _id } of select(collection, { $and: [partial, expired] }, options)) {
    const record = collection.keyOf(_id)
    // Records that a transaction has written wait for the next run.
    if (collection.ownerOf(record) === undefined) collection.remove(record)
  }
}
