import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { isEqual } from '../../matching/compare.ts'
import { isIndex } from '../../matching/field-paths.ts'
import { createCollation } from '../protocol/collation-option.ts'
import { fieldsOf, readFields, refuse } from '../protocol/read-fields.ts'
import type { Collection } from '../storage/collection.ts'
import { whenUnlocked } from '../storage/collection.ts'
import { checkExpiry } from '../storage/store.ts'
import { checkNoTextOptions, isTextIndex, toTextIndex } from '../storage/text-index.ts'
import type { CommandContext, Commands } from './command.ts'
import { readBatchSize, readName } from './command.ts'

/**
 * Commands about indexes, which reject duplicates and speed up reads, but never change the order of results.
 */
export const INDEX_COMMANDS: Commands = {
  createIndexes: {
    // The quorum counts members of a replica set, and there is only one here.
    fields: { indexes: 'array', commitQuorum: 'any' },
    run: (command, context) => whenUnlocked(() => createIndexes(command, context)),
  },
  dropIndexes: {
    fields: { index: 'any' },
    run: (command, context) => whenUnlocked(() => dropIndexes(command, context)),
  },
  listIndexes: { fields: { cursor: 'object' }, run: listIndexes },
}

const INDEX_FIELDS = {
  ...fieldsOf('number', 'v', 'expireAfterSeconds', 'textIndexVersion'),
  ...fieldsOf('object', 'key', 'collation', 'partialFilterExpression', 'weights'),
  ...fieldsOf('string', 'name', 'ns', 'default_language', 'language_override'),
  ...fieldsOf('bool', 'unique', 'sparse', 'hidden', 'background'),
  ...refuse('2dsphereIndexVersion', 'bits', 'min', 'max', 'bucketSize', 'wildcardProjection'),
  ...refuse('storageEngine', 'prepareUnique', 'clustered'),
} as const

function createIndexes(command: Document, context: CommandContext): Document {
  const { store, database } = context
  const name = readName(command, 'createIndexes', context)
  const specs: unknown[] = command.indexes ?? []
  if (specs.length === 0) throw new CommandError(2, 'Must specify at least one index to create')
  const existing = store.find(database, name)
  const collection = existing ?? store.createDetached(database, name, {})
  const numIndexesBefore = collection.indexes.size
  const names = new Set(collection.indexes.keys())
  try {
    for (const spec of specs.map((one) => toSpec(one, collection))) addIndex(collection, spec)
  } catch (error) {
    const added = [...collection.indexes.keys()].filter((name) => !names.has(name))
    for (const name of added) collection.removeIndex(name)
    throw error
  }
  // Only now: a rejected index must not create the collection.
  if (existing === undefined) store.put(database, name, collection)
  return {
    numIndexesBefore,
    numIndexesAfter: collection.indexes.size,
    createdCollectionAutomatically: existing === undefined,
    ...(collection.indexes.size === numIndexesBefore ? { note: 'all indexes already exist' } : {}),
    ok: 1,
  }
}

function toSpec(given: unknown, collection: Collection): Document {
  const fields = readFields('createIndexes.indexes', given, INDEX_FIELDS, {
    unknown: 197,
    refused: 67,
  })
  const { key = {}, name, ns: _ns, background: _background, v = 2, ...options } = fields
  if (name === undefined || name === '') throw new CommandError(9, 'An index needs a name')
  if (name === '*') throw new CommandError(2, "The index name '*' is not valid")
  if (name.includes('\0')) throw new CommandError(67, 'The name of an index has a zero byte')
  if (v !== 2) throw notSupported(`An index of the version ${v}`, 67)
  const paths = Object.keys(key)
  if (paths.length === 0) throw new CommandError(67, 'An index needs a key pattern')
  if (isTextIndex({ key })) {
    if (collection.collation !== undefined) throw notSupported('A text index with a collation', 67)
    const { key: textKey, ...text } = toTextIndex(key, options)
    return { v: 2, key: textKey, name, ...text }
  }
  checkNoTextOptions(options)
  for (const path of paths) checkKey(path, key[path])
  if (paths.length > 32) throw new CommandError(13103, 'too many compound keys')
  if (options.sparse && options.partialFilterExpression !== undefined) {
    throw new CommandError(67, 'cannot mix "partialFilterExpression" and "sparse" options')
  }
  const isIdIndex = paths.join() === '_id' && Math.abs(Math.trunc(key._id)) === 1
  if (isIdIndex) checkIdIndex(key, options, collection)
  checkExpiry({ key, ...options })
  createCollation(options.collation)
  const { collation } = collection.options
  const inherited = collation === undefined || 'collation' in options ? {} : { collation }
  return { v: 2, key, name, ...options, ...inherited }
}

/** @throws {CommandError} 2, 197 it is an index on `_id` that differs from the default one */
function checkIdIndex(key: Document, options: Document, { options: own }: Collection): void {
  if (Object.keys(options).some((option) => option !== 'collation')) {
    throw new CommandError(197, 'An _id index takes no options')
  }
  const { collation = { locale: 'simple' } } = own
  if (!isEqual(key, { _id: 1 }) || !isEqual(options.collation ?? collation, collation)) {
    throw new CommandError(2, 'An _id index has the key { _id: 1 } and the collation of all')
  }
}

function checkKey(path: string, value: unknown): void {
  const names = path.split('.')
  if (names.slice(1).some(isIndex)) throw notSupported(`An index on the item '${path}'`, 67)
  if (names.at(-1) === '$**') throw notSupported(`The wildcard '${path}' of an index`, 67)
  if (names.some((name) => name === '' || name.startsWith('$'))) {
    throw new CommandError(67, `'${path}' is not a valid path of an index`)
  }
  if (typeof value === 'string') throw notSupported(`An index of the type '${value}'`, 67)
  if (typeof value !== 'number' || value === 0 || Number.isNaN(value)) {
    throw new CommandError(67, `The value of '${path}' in a key pattern must be a number, not 0`)
  }
}

/** Per collection, including the one on `_id`. */
const MAX_INDEXES = 64

function addIndex(collection: Collection, spec: Document): void {
  const { name, key } = spec
  const text = collection.textIndex?.spec
  if (text !== undefined && isTextIndex(spec)) {
    if (hasSameOptions(text, spec)) return
    throw new CommandError(85, `A collection has one text index, and there is: ${text.name}`)
  }
  const same = collection.indexes.get(name)
  if (same !== undefined) {
    if (isEqual(same.key, key) && (name === '_id_' || hasSameOptions(same, spec))) return
    const message = `An existing index has the same name as the requested index: ${name}`
    throw new CommandError(86, message)
  }
  if (isEqual(key, { _id: 1 })) return
  const twin = [...collection.indexes.values()].find((other) => isEqual(other.key, key))
  if (twin !== undefined && hasSameOptions({ ...twin, name }, spec)) {
    throw new CommandError(85, `Index already exists with a different name: ${twin.name}`)
  }
  if (collection.indexes.size >= MAX_INDEXES) throw new CommandError(67, 'too many indexes')
  collection.addIndex(spec)
}

function hasSameOptions(a: Document, b: Document): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => isEqual(a[name] ?? false, b[name] ?? false))
}

function dropIndexes(command: Document, context: CommandContext): Document {
  const collection = findCollection(command, 'dropIndexes', context)
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
  const collection = findCollection(command, 'listIndexes', context)
  const batchSize = readBatchSize(command)
  const specs = [...collection.indexes.values()]
  return context.cursors.open(collection.namespace, specs, { batchSize, context })
}

function findCollection(command: Document, field: string, context: CommandContext): Collection {
  const { store, database } = context
  const name = readName(command, field, context)
  const collection = store.find(database, name)
  if (collection !== undefined) return collection
  throw new CommandError(26, `ns does not exist: ${database}.${name}`)
}
