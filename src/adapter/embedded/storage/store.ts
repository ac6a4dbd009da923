import type { Document } from 'bson'
import { CommandError } from '../errors.ts'
import type { Clock, View } from './collection.ts'
import { Collection } from './collection.ts'
import type { Transaction } from './transaction.ts'

/** All databases of one server; a database exists while it has a collection. */
export class Store {
  readonly clock: Clock = { time: 0, open: new Set(), history: [] }
  readonly databases: Map<string, Map<string, Collection>> = new Map()

  /** Returns a collection, `undefined` where there is none. */
  find(database: string, name: string): Collection | undefined {
    return this.databases.get(database)?.get(name)
  }

  /** Returns a collection as a command sees it; one that does not exist is empty. */
  read(database: string, name: string, transaction: Transaction | undefined): View {
    const collection =
      this.find(database, name) ?? new Collection(`${database}.${name}`, {}, this.clock)
    return transaction?.view(collection) ?? collection
  }

  /** Returns a collection for a command that writes; one that does not exist is created. */
  write(database: string, name: string, transaction: Transaction | undefined): View {
    const collection = this.find(database, name) ?? this.create(database, name, {})
    return transaction?.view(collection) ?? collection
  }

  create(database: string, name: string, options: Document): Collection {
    const collection = this.createDetached(database, name, options)
    this.put(database, name, collection)
    return collection
  }

  /** Returns a new collection, which `put` may add to the store. */
  createDetached(database: string, name: string, options: Document): Collection {
    checkName(database, name)
    return new Collection(`${database}.${name}`, options, this.clock)
  }

  put(database: string, name: string, collection: Collection): void {
    const collections = this.databases.get(database) ?? new Map<string, Collection>()
    collection.isStored = true
    this.databases.set(database, collections.set(name, collection))
  }

  /** Removes a collection and returns whether there was one. */
  drop(database: string, name: string): boolean {
    const collections = this.databases.get(database)
    collections?.get(name)?.checkUnlocked()
    const dropped = collections?.delete(name) ?? false
    if (collections?.size === 0) this.databases.delete(database)
    return dropped
  }
}

function checkName(database: string, name: string): void {
  const isValid = name !== '' && !/[$\0]/.test(name) && !name.startsWith('.') && !name.endsWith('.')
  if (!isValid || name.startsWith('system.') || !/^[^/\\. "$\0]{1,63}$/.test(database)) {
    throw new CommandError(73, `Invalid namespace specified '${database}.${name}'`)
  }
}
