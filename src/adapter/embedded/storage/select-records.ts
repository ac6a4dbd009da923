import type { Document } from 'bson'
import type { FilterOptions, Predicate } from '../queries/filter.ts'
import { compileFilter, isOperators } from '../queries/filter.ts'
import { compareValues } from '../values/compare.ts'
import { isRegex } from '../values/regular-expression.ts'
import type { View } from './collection.ts'

/** One record: its key in the collection and its document. */
export type Entry = readonly [key: string, document: Document]

/** What a filter needs, and which documents a hint leaves to look at. */
export interface SelectOptions extends FilterOptions {
  readonly hint?: Predicate
}

/** Yields the matching records in their natural order; by key where the filter names the `_id`. */
export function* select(view: View, filter: unknown, options: SelectOptions): Generator<Entry> {
  const { hint } = options
  const matches = compileFilter(filter, options)
  for (const entry of findCandidates(view, filter as Document, options)) {
    if ((hint === undefined || hint(entry[1])) && matches(entry[1])) yield entry
  }
}

function findCandidates(view: View, filter: Document, options: FilterOptions): Iterable<Entry> {
  const ids = findIds(filter)
  // Keys follow the collection's own collation: under another one each record is looked at.
  if (ids === undefined || options.collation !== view.collection.collation) return view.entries()
  // Found in the order of the `_id` index, as MongoDB does.
  const sorted = ids.toSorted((a, b) => compareValues(a, b, options.collation))
  const keys = new Set(sorted.map((id) => view.collection.keyOf(id)))
  return [...keys].flatMap((key): Entry[] => {
    const document = view.get(key)
    return document === undefined ? [] : [[key, document]]
  })
}

/** Returns the ids that a filter leaves, by a condition at its top or in `$and` there. */
function findIds(filter: Document): unknown[] | undefined {
  const all: unknown[] = Array.isArray(filter.$and) ? [filter, ...filter.$and] : [filter]
  return all.map((one) => readIds((one as Document)._id)).find((ids) => ids !== undefined)
}

function readIds(condition: unknown): unknown[] | undefined {
  if (condition === undefined || isRegex(condition)) return undefined
  if (!isOperators(condition)) return [condition]
  if ('$eq' in condition) return [condition.$eq]
  const list: unknown = condition.$in
  return Array.isArray(list) && !list.some(isRegex) ? list : undefined
}
