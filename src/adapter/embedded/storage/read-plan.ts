import type { Document } from 'bson'
import type { Collation } from '../values/compare.ts'
import { compareValues } from '../values/compare.ts'
import { isRegex } from '../values/regular-expression.ts'
import type { View } from './collection.ts'
import type { Bounds, Condition } from './index-bounds.ts'
import { readBounds, readConditions } from './index-bounds.ts'
import type { IndexEntry, IndexKeys } from './index-keys.ts'
import type { SortedList } from './sorted-list.ts'

/** Which records a filter is tried on, and in which order. */
export interface ReadPlan {
  /** Their keys, `undefined` where they are all. */
  readonly keys: Iterable<string> | undefined
  /** Whether they come in the order of the sort. */
  readonly isSorted: boolean
}

/** Returns how to find the documents of a filter, of which the first ones are wanted. */
export function planRead(
  view: View,
  filter: Document,
  collation: Collation | undefined,
  sort: Document,
  wanted: number,
): ReadPlan {
  const { collection } = view
  const conditions = readConditions(filter)
  const ids = collation?.name === collection.collation?.name ? findIds(conditions) : undefined
  if (ids !== undefined) {
    const sorted = ids.toSorted((a, b) => compareValues(a, b, collation))
    return { keys: new Set(sorted.map((id) => collection.keyOf(id))), isSorted: false }
  }
  const named = new Set([...conditions.map(({ path }) => path), ...Object.keys(sort)])
  const paths = [...collection.keyIndexes.values()]
    .filter(({ fields }) => named.has(fields[0]?.path ?? ''))
    .filter((index) => index.collation?.name === collation?.name && isReadable(index))
    .map((index) => toAccessPath(view, index, conditions, sort))
    .toSorted((a, b) => a.size - b.size)
  const narrow = paths.find(({ isBounded }) => isBounded)
  const most = narrow?.size ?? collection.records.size
  const ordered = paths.find(isInOrder)
  // The matches are among the entries of the one, and spread over those of the other, which is
  // read until there are enough of them: where that is likely to be sooner.
  if (ordered !== undefined && wanted * ordered.size <= most * most) {
    return { keys: readInOrder(ordered), isSorted: true }
  }
  return { keys: narrow && toKeys(readRuns(narrow)), isSorted: false }
}

/** Returns the `_id`s that a filter leaves. */
function findIds(conditions: readonly Condition[]): unknown[] | undefined {
  const named = conditions.find(({ path, operator }) => path === '_id' && operator === '$in')
  const ids = named?.operand as unknown[] | undefined
  return ids?.some(isRegex) ? undefined : ids
}

/** A partial index does not have all that may match. */
function isReadable({ spec }: IndexKeys): boolean {
  return spec.hidden !== true && spec.partialFilterExpression === undefined
}

/** An index, and its entries that may be of matching documents. */
interface AccessPath extends Bounds {
  readonly index: IndexKeys
  /** The entries in each layer of the view. */
  readonly lists: readonly SortedList<IndexEntry>[]
  readonly size: number
  /** For each field of the sort: 1 as in the index, -1 the other way around, NaN for another field. */
  readonly turns: readonly number[]
}

function toAccessPath(
  view: View,
  index: IndexKeys,
  conditions: readonly Condition[],
  sort: Document,
): AccessPath {
  const lists = view.layers().map((layer) => layer.entriesOf(index))
  const bounds = readBounds(index, conditions)
  const counts = lists.flatMap((list) => bounds.runs.map((run) => list.count(run)))
  const constant = index.fields.slice(0, bounds.fixed).map(({ path }) => path)
  const sorted = Object.keys(sort).filter((path) => !constant.includes(path))
  const turns = sorted.map((path, at) => {
    const field = index.fields[bounds.fixed + at]
    return field?.path === path ? field.direction * Number(sort[path]) : Number.NaN
  })
  return { ...bounds, index, lists, turns, size: counts.reduce((sum, count) => sum + count, 0) }
}

/** Returns whether the entries of an index come in the order of a sort, or the other way around. */
function isInOrder({ index, lists, runs, turns, isBounded }: AccessPath): boolean {
  const isOne = lists.length === 1 && runs.length === 1 && !index.isMultikey
  const hasAll = isBounded || (index.spec.sparse !== true && turns.length > 0)
  return isOne && hasAll && turns.every((turn) => turn === turns[0])
}

function* readRuns({ lists, runs }: AccessPath, backwards = false): Generator<IndexEntry> {
  for (const list of lists) for (const run of runs) yield* list.run(run, backwards)
}

/** Yields the keys of records in the order of an index; those that are equal in the natural one. */
function* readInOrder(path: AccessPath): Generator<string> {
  const { index, fixed, turns } = path
  let equal: IndexEntry[] = []
  for (const entry of readRuns(path, turns[0] === -1)) {
    const [first = entry] = equal
    if (index.compare(first.values, entry.values, fixed + turns.length) !== 0) {
      yield* toKeys(equal)
      equal = []
    }
    equal.push(entry)
  }
  yield* toKeys(equal)
}

/** Returns the keys of records in their natural order, each once: upper layers come first. */
function toKeys(entries: Iterable<IndexEntry>): string[] {
  const places = new Map<string, number>()
  for (const { key, place } of entries) if (!places.has(key)) places.set(key, place)
  return [...places].sort(([, a], [, b]) => a - b).map(([key]) => key)
}
