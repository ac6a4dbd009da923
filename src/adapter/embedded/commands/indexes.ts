import type { Document } from 'bson'
import type { Collection } from '../collection.ts'
import type { Command, CommandContext } from '../command.ts'
import { readName } from '../command.ts'
import { isDocument, isEqual } from '../compare.ts'
import { CommandError, notSupported } from '../errors.ts'
import { whenUnlocked } from '../lock.ts'

/** Commands about indexes. Only unique ones have entries: they never change what is found. */
export const INDEX_COMMANDS: Readonly<Record<string, Command>> = {
  createIndexes: (command, context) => whenUnlocked(() => createIndexes(command, context)),
  dropIndexes: (command, context) => whenUnlocked(() => dropIndexes(command, context)),
  listIndexes,
}

function createIndexes(command: Document, { store, database }: CommandContext): Document {
  const name = readName(command, 'createIndexes')
  const existing = store.find(database, name)
  const collection = existing ?? store.create(database, name, {})
  const numIndexesBefore = collection.indexes.size
  const specs: unknown = command.indexes
  if (!Array.isArray(specs) || !specs.every(isDocument)) {
    throw new CommandError(14, "'indexes' must be an array of objects")
  }
  for (const spec of specs) addIndex(collection, toSpec(spec, collection))
  return {
    numIndexesBefore,
    numIndexesAfter: collection.indexes.size,
    createdCollectionAutomatically: existing === undefined,
    ...(collection.indexes.size === numIndexesBefore ? { note: 'all indexes already exist' } : {}),
    ok: 1,
  }
}

function toSpec(spec: Document, collection: Collection): Document {
  const { key, name, ...options } = spec
  if (!isDocument(key) || Object.keys(key).length === 0) {
    throw new CommandError(67, 'An index needs a key pattern')
  }
  if (typeof name !== 'string' || name === '') throw new CommandError(9, 'An index needs a name')
  const type = Object.values(key).find((value) => typeof value === 'string' && value !== 'hashed')
  if (type !== undefined) throw notSupported(`An index of the type '${String(type)}'`, 67)
  const isUnfit =
    Object.values(key).includes('hashed') || Object.keys(key).some((path) => path.includes('$**'))
  if (isUnfit && options.unique === true) {
    throw new CommandError(67, 'A hashed or wildcard index cannot be unique')
  }
  if (options.expireAfterSeconds !== undefined) {
    throw notSupported('An index with expireAfterSeconds', 67)
  }
  const { collation } = collection.options
  const inherited = collation === undefined || 'collation' in options ? {} : { collation }
  return { v: 2, key, name, ...options, ...inherited }
}

function addIndex(collection: Collection, spec: Document): void {
  const { name, key } = spec
  const same = collection.indexes.get(name)
  if (same !== undefined) {
    if (isEqual(same.key, key) && (name === '_id_' || hasSameOptions(same, spec))) return
    throw new CommandError(
      86,
      `An existing index has the same name as the requested index: ${name}`,
    )
  }
  if (isEqual(key, { _id: 1 })) return
  const twin = [...collection.indexes.values()].find((other) => isEqual(other.key, key))
  if (twin !== undefined && hasSameOptions({ ...twin, name }, spec)) {
    throw new CommandError(85, `Index already exists with a different name: ${twin.name}`)
  }
  collection.addIndex(spec)
}

function hasSameOptions(a: Document, b: Document): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => isEqual(a[name] ?? false, b[name] ?? false))
}

function dropIndexes(command: Document, context: CommandContext): Document {
  const collection = findCollection(readName(command, 'dropIndexes'), context)
  const nIndexesWas = collection.indexes.size
  for (const name of toNames(command.index, collection)) {
    if (name === '_id_') throw new CommandError(72, 'cannot drop _id index')
    if (!collection.indexes.has(name))
      throw new CommandError(27, `index not found with name [${name}]`)
    collection.removeIndex(name)
  }
  return { nIndexesWas, ok: 1 }
}

function toNames(index: unknown, collection: Collection): string[] {
  if (index === '*') return [...collection.indexes.keys()].filter((name) => name !== '_id_')
  if (!isDocument(index)) return Array.isArray(index) ? index : [String(index)]
  const found = [...collection.indexes.values()].filter(({ key }) => isEqual(key, index))
  if (found.length > 0) return found.map(({ name }) => name)
  throw new CommandError(27, "can't find index with this key")
}

function listIndexes(command: Document, context: CommandContext): Document {
  const collection = findCollection(readName(command, 'listIndexes'), context)
  const { batchSize } = command.cursor ?? {}
  return context.cursors.open(collection.namespace, [...collection.indexes.values()], { batchSize })
}

function findCollection(name: string, { store, database }: CommandContext): Collection {
  const collection = store.find(database, name)
  if (collection !== undefined) return collection
  throw new CommandError(26, `ns does not exist: ${database}.${name}`)
}
