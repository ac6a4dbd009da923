import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { isEqual } from '../../matching/compare.ts'
import type { FilterOptions } from '../../matching/filter.ts'
import { compileFilter } from '../../matching/filter.ts'
import { compileSort } from '../queries/sort.ts'
import type { TextScore } from '../queries/text-query.ts'
import type { Collection, View } from './collection.ts'
import { planRead } from './read-plan.ts'
import { isTextIndex } from './text-index.ts'

/** One record: its key in the collection and its document. */
export type Entry = readonly [key: string, document: Document]

/** Which of the matching documents to return. */
export interface Page {
  readonly sort?: Document
  readonly skip?: number
  /** 0 means no limit. */
  readonly limit?: number
  readonly textScore?: TextScore
}

/**
 * Returns the matching documents in the order of `sort`. Equal ones, or all without a sort, come in natural
 * order, or in the order of their `_id`s if the filter names these.
 */
export function select(
  view: View,
  filter: unknown,
  options: FilterOptions,
  { sort = {}, skip = 0, limit = 0, textScore }: Page = {},
): Document[] {
  const matches = compileFilter(filter, options)
  const sorter = compileSort(sort, options.collation, textScore)
  const wanted = limit === 0 ? Number.POSITIVE_INFINITY : skip + limit
  const { keys, isSorted } = planRead(view, filter as Document, options.collation, sort, wanted)
  const found: Document[] = []
  for (const [, document] of keys === undefined ? view.entries() : lookUp(view, keys)) {
    if (matches(document)) found.push(document)
    if (isSorted && found.length === wanted) break
  }
  return (isSorted ? found : sorter(found, wanted)).slice(skip)
}

function* lookUp(view: View, keys: Iterable<string>): Generator<Entry> {
  for (const key of keys) {
    const document = view.get(key)
    if (document !== undefined) yield [key, document]
  }
}

/**
 * A hint has no effect here. In MongoDB, a sparse or partial index as a hint hides documents that it lacks.
 * @throws {CommandError} 2 the hint names no index, or is not supported
 */
export function checkHint(hint: unknown, collection: Collection): void {
  // MongoDB ignores the hint if the collection does not exist.
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
