import type { Document } from 'bson'
import { TYPE_ORDER, typeOrderOf } from '../../matching/bson-type.ts'
import type { Collation } from '../../matching/compare.ts'
import { compareValues } from '../../matching/compare.ts'
import { isRegex } from '../../matching/regular-expression.ts'
import type { Condition } from '../queries/conditions.ts'
import { conditionsOf } from '../queries/conditions.ts'
import type { Side, SortedList } from '../sorted-list.ts'
import type { View } from './collection.ts'
import type { IndexEntry, IndexKeys } from './index-keys.ts'

/**
 * Returns the keys of the records to try the filter on, `undefined` for all of them, and whether they are
 * already in sort order. The caller reads only the first `wanted` records of that order.
 */
export function planRead(
  view: View,
  filter: Document,
  collation: Collation | undefined,
  sort: Document,
  wanted: number,
): { readonly keys?: Iterable<string>; readonly isSorted: boolean } {
  const { collection } = view
  const isSorted = Object.keys(sort).length === 0
  const all = readConditions(filter)
  const ids = readList(all.filter(({ path }) => path === '_id'))
  if (ids?.some(isRegex) === false && collation?.name === collection.collation?.name) {
    const sorted = ids.toSorted((a, b) => compareValues(a, b, collation))
    return { keys: new Set(sorted.map((id) => collection.keyOf(id))), isSorted }
  }
  const conditions = all.filter(setsBounds)
  const named = new Set([...conditions.map(({ path }) => path), ...Object.keys(sort)])
  // A transaction's snapshot may contain records that an index on several fields rejects.
  const isPresent = view.layers().every((layer) => layer === collection)
  const paths = [...collection.keyIndexes.values()]
    .filter(({ fields }) => named.has(fields[0]?.path ?? '') && (isPresent || fields.length === 1))
    .filter(({ spec }) => spec.hidden !== true && spec.partialFilterExpression === undefined)
    .filter((index) => index.collation?.name === collation?.name)
    .map((index) => toAccessPath(view, index, conditions, sort))
    .toSorted((a, b) => a.size - b.size)
  const narrow = paths.find(({ isBounded }) => isBounded)
  const ordered = paths.find(({ isOrdered }) => isOrdered)
  // The narrow index contains all matches. The ordered index is read until there are enough matches, so it is
  // chosen if that is likely to be sooner.
  const most = narrow?.size ?? collection.records.size
  if (ordered !== undefined && wanted * ordered.size <= most * most) {
    return { keys: readInOrder(ordered), isSorted: true }
  }
  return narrow === undefined ? { isSorted } : { keys: toKeys(readRuns(narrow)), isSorted }
}

/** Returns the conditions that every matching document meets; `$eq` is an `$in` of one. */
function readConditions(filter: Document): Condition[] {
  // No clause of an `$or` holds for all matches.
  return conditionsOf(filter, () => []).map((condition) =>
    condition.operator === '$eq'
      ? { path: condition.path, operator: '$in', operand: [condition.operand] }
      : condition,
  )
}

/** Returns the values that conditions on one field allow. */
function readList(conditions: readonly Condition[]): unknown[] | undefined {
  return conditions.find(({ operator }) => operator === '$in')?.operand as unknown[] | undefined
}

/** The side of an entry, by the order of its value and the operand. */
const SIDES: ReadonlyMap<string, (order: number) => number> = new Map([
  ['$in', (order) => order],
  ['$gt', (order) => (order > 0 ? 0 : -1)],
  ['$gte', (order) => Math.min(order, 0)],
  ['$lt', (order) => (order < 0 ? 0 : 1)],
  ['$lte', (order) => Math.max(order, 0)],
])

/** Null also matches a missing field, a list its items, a pattern strings. */
const UNBOUND: ReadonlySet<number> = new Set([
  ...[TYPE_ORDER.minKey, TYPE_ORDER.null, TYPE_ORDER.array, TYPE_ORDER.regex, TYPE_ORDER.maxKey],
])

function setsBounds({ operator, operand }: Condition): boolean {
  const operands = operator === '$in' ? (operand as unknown[]) : [operand]
  return SIDES.has(operator) && !operands.some((one) => UNBOUND.has(typeOrderOf(one)))
}

/** An index, and its entries that may belong to matching documents. */
interface AccessPath {
  readonly index: IndexKeys
  /** The entries in each layer of the view. */
  readonly lists: readonly SortedList<IndexEntry>[]
  /** Each matching document is in one of these. */
  readonly runs: readonly Side<IndexEntry>[]
  readonly size: number
  /** Whether there is a condition on the first field: then each matching document has that field. */
  readonly isBounded: boolean
  /** Whether the entries are in the order of the sort, over `count` fields. */
  readonly isOrdered: boolean
  readonly count: number
  readonly isBackwards: boolean
}

function toAccessPath(
  view: View,
  index: IndexKeys,
  conditions: readonly Condition[],
  sort: Document,
): AccessPath {
  // From here on, the index has all its entries, and knows whether they include lists.
  const lists = view.layers().map((layer) => layer.entriesOf(index))
  const { fields, isMultikey, spec } = index
  let sides: Side<IndexEntry>[][] = [[]]
  let fixed = 0
  // Different items of a list may meet the conditions, with different entries.
  for (const [at, { path }] of isMultikey && fields.length > 1 ? [] : fields.entries()) {
    const own = conditions.filter((condition) => condition.path === path)
    const values = readList(own)
    const ranges = own
      .filter(({ operator }) => operator !== '$in')
      .slice(0, isMultikey ? Number(values === undefined) : undefined)
      .map(({ operator, operand }) => toSide(index, at, operator, operand))
    const choices = values?.map((value) => [toSide(index, at, '$in', value), ...ranges]) ?? [ranges]
    if (own.length === 0 || (at > 0 && choices.length !== 1)) break
    sides = sides.flatMap((run) => choices.map((choice) => [...run, ...choice]))
    if (values === undefined) break
    // All entries of a single run have the same value in this field.
    if (sides.length === 1) fixed += 1
  }
  const isBounded = sides[0]?.length !== 0
  const runs = sides.map(allOf)
  const counts = lists.flatMap((list) => runs.map((run) => list.count(run)))
  const constant = fields.slice(0, fixed).map(({ path }) => path)
  const turns = Object.entries(sort)
    .filter(([path]) => !constant.includes(path))
    .map(([path, direction], at) => {
      const field = fields[fixed + at]
      return field?.path === path ? field.direction * Number(direction) : Number.NaN
    })
  const isOne = lists.length === 1 && runs.length === 1 && !isMultikey
  const hasAll = isBounded || (spec.sparse !== true && turns.length > 0)
  return {
    ...{ index, lists, runs, isBounded, count: fixed + turns.length },
    size: counts.reduce((sum, count) => sum + count, 0),
    isOrdered: isOne && hasAll && turns.every((turn) => turn === turns[0]),
    isBackwards: turns[0] === -1,
  }
}

/** Returns on which side of a condition's range entries lie; its operator finds values of one type. */
function toSide(
  { fields, collation }: IndexKeys,
  at: number,
  operator: string,
  operand: unknown,
): Side<IndexEntry> {
  const direction = fields[at]?.direction ?? 1
  const type = typeOrderOf(operand)
  const sideOf = SIDES.get(operator) ?? (() => 0)
  return ({ values: { [at]: value } }) =>
    direction * (typeOrderOf(value) - type || sideOf(compareValues(value, operand, collation)))
}

/** Combines sides: the first that is not zero decides, so a field only matters where those before it have one value. */
function allOf(sides: readonly Side<IndexEntry>[]): Side<IndexEntry> {
  return (entry) => {
    for (const side of sides) {
      const order = side(entry)
      if (order !== 0) return order
    }
    return 0
  }
}

function* readRuns({ lists, runs, isBackwards }: AccessPath): Generator<IndexEntry> {
  for (const list of lists) for (const run of runs) yield* list.run(run, isBackwards)
}

/** Yields the keys of records in the order of an index; equal ones in natural order. */
function* readInOrder(path: AccessPath): Generator<string> {
  let equal: IndexEntry[] = []
  for (const entry of readRuns(path)) {
    const [first = entry] = equal
    if (path.index.compare(first.values, entry.values, path.count) !== 0) {
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
