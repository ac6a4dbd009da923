import type { Document } from 'bson'
import { CommandError, notSupported } from '../errors.ts'
import type { FilterOptions } from '../queries/filter.ts'
import { compileFilter, isOperators } from '../queries/filter.ts'
import { isDocument } from '../values/bson-type.ts'
import { compareValues, isEqual } from '../values/compare.ts'
import { getField } from '../values/field-paths.ts'
import { isRegex } from '../values/regular-expression.ts'
import type { Collection, View } from './collection.ts'
import { isTextIndex } from './text-index.ts'

/** One record: its key in the collection and its document. */
export type Entry = readonly [key: string, document: Document]

/**
 * Yields the matching records in their natural order. Where the filter names the `_id`, or one value of
 * a unique index, they are looked up by key.
 */
export function* select(view: View, filter: unknown, options: FilterOptions): Generator<Entry> {
  const matches = compileFilter(filter, options)
  for (const entry of findCandidates(view, filter as Document, options)) {
    if (matches(entry[1])) yield entry
  }
}

function findCandidates(view: View, filter: Document, options: FilterOptions): Iterable<Entry> {
  const keys = findById(view, filter, options) ?? findByIndex(view, filter, options)
  if (keys === undefined) return view.entries()
  return [...new Set(keys)].flatMap((key): Entry[] => {
    const document = key === undefined ? undefined : view.get(key)
    return key === undefined || document === undefined ? [] : [[key, document]]
  })
}

type Keys = Iterable<string | undefined>

function findById(view: View, filter: Document, { collation }: FilterOptions): Keys | undefined {
  // Keys follow the collection's own collation: under another one each record is looked at.
  if (collation !== view.collection.collation) return undefined
  // Found in the order of the `_id` index, as MongoDB does.
  const ids = findEquals(filter, '_id')?.toSorted((a, b) => compareValues(a, b, collation))
  return ids?.map((id) => view.collection.keyOf(id))
}

/** One value is looked up, and no list: several records would come in another order. */
function findByIndex(view: View, filter: Document, { collation }: FilterOptions): Keys | undefined {
  for (const index of view.collection.uniqueIndexes.values()) {
    const [path = ''] = Object.keys(index.spec.key)
    const [value, ...others] = findEquals(filter, path) ?? []
    const key = others.length > 0 ? undefined : index.keyOfEqual(value, collation)
    if (key !== undefined) return view.holdersOf(index, key)
  }
  return undefined
}

/** Returns the values that a filter leaves for a field, by a condition at its top or in `$and` there. */
function findEquals(filter: Document, path: string): unknown[] | undefined {
  const all: Document[] = Array.isArray(filter.$and) ? [filter, ...filter.$and] : [filter]
  return all.map((one) => readValues(getField(one, path))).find((values) => values !== undefined)
}

function readValues(condition: unknown): unknown[] | undefined {
  if (condition === undefined || isRegex(condition)) return undefined
  if (!isOperators(condition)) return [condition]
  if ('$eq' in condition) return [condition.$eq]
  const list: unknown = condition.$in
  return Array.isArray(list) && !list.some(isRegex) ? list : undefined
}

/**
 * A hint changes nothing here. In MongoDB that of a sparse or partial index hides what is not in it.
 * @throws {CommandError} 2 the hint names no index, or is not supported
 */
export function checkHint(hint: unknown, collection: Collection): void {
  // MongoDB ignores the hint where the collection does not exist.
  if (hint === undefined || isEqual(hint, {}) || !collection.isStored) return
  if (typeof hint !== 'string' && !isDocument(hint)) {
    throw new CommandError(9, 'hint must be a string or an object')
  }
  if (isDocument(hint) && '$natural' in hint) throw notSupported('The hint $natural')
  const spec = findIndex(hint, collection)
  if (isTextIndex(spec)) throw notSupported('The hint of a text index')
  if (spec.sparse === true || spec.partialFilterExpression !== undefined) {
    throw notSupported('The hint of a sparse or partial index')
  }
}

function findIndex(hint: string | Document, collection: Collection): Document {
  const indexes = [...collection.indexes.values()].filter(
    ({ name, key, hidden }) => hidden !== true && (name === hint || isEqual(key, hint)),
  )
  const [spec] = indexes
  if (spec === undefined) {
    throw new CommandError(2, 'hint provided does not correspond to an existing index')
  }
  if (indexes.length > 1) {
    throw new CommandError(2, 'Hint matched multiple indexes, must hint by index name')
  }
  return spec
}
