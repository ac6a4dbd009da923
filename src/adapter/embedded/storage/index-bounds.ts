import type { Document } from 'bson'
import { isOperators } from '../queries/filter.ts'
import { TYPE_ORDER, typeOrderOf } from '../values/bson-type.ts'
import { compareValues } from '../values/compare.ts'
import type { IndexEntry, IndexKeys } from './index-keys.ts'
import type { Side } from './sorted-list.ts'

/** What a filter asks of a field of each document that it finds. */
export interface Condition {
  readonly path: string
  /** `$eq` is an `$in` of one. */
  readonly operator: string
  readonly operand: unknown
}

/** Returns the conditions at the top of a valid filter, and in each `$and` there. */
export function readConditions(filter: Document): Condition[] {
  return Object.entries(filter).flatMap(([path, condition]): Condition[] => {
    if (path === '$and') return condition.flatMap(readConditions)
    const operators = isOperators(condition) ? condition : { $eq: condition }
    return Object.entries(operators).map(([operator, operand]) =>
      operator === '$eq'
        ? { path, operator: '$in', operand: [operand] }
        : { path, operator, operand },
    )
  })
}

/** Where in an index the documents are that meet conditions. */
export interface Bounds {
  /** Each of them is in one of these runs of entries. */
  readonly runs: readonly Side<IndexEntry>[]
  /** Whether there is a condition on the first field: then each of them has that field. */
  readonly isBounded: boolean
  /** How many of the first fields have the same value in all entries of the only run. */
  readonly fixed: number
}

/** Returns the bounds that conditions set to an index, which has to have all its entries by now. */
export function readBounds(index: IndexKeys, conditions: readonly Condition[]): Bounds {
  const { fields, isMultikey } = index
  let runs: Side<IndexEntry>[][] = [[]]
  let fixed = 0
  // Of lists, each condition may be met by another item, which may have another entry.
  for (const [at, { path }] of isMultikey && fields.length > 1 ? [] : fields.entries()) {
    const own = conditions.filter((one) => one.path === path && isBound(one))
    const values = own.find(({ operator }) => operator === '$in')?.operand as unknown[] | undefined
    const ranges = own.filter(({ operator }) => operator !== '$in')
    const used = isMultikey ? ranges.slice(0, values === undefined ? 1 : 0) : ranges
    const sides = used.map(({ operator, operand }) => toSide(index, at, operator, operand))
    const choices = values?.map((value) => [toSide(index, at, '$in', value), ...sides]) ?? [sides]
    if (own.length === 0 || (at > 0 && choices.length !== 1)) break
    runs = runs.flatMap((run) => choices.map((choice) => [...run, ...choice]))
    if (values === undefined) break
    if (runs.length === 1) fixed += 1
  }
  return { runs: runs.map(allOf), isBounded: runs[0]?.length !== 0, fixed }
}

/** Where a value is, by its order to the operand. */
const SIDES: ReadonlyMap<string, (order: number) => number> = new Map([
  ['$in', (order) => order],
  ['$gt', (order) => (order > 0 ? 0 : -1)],
  ['$gte', (order) => Math.min(order, 0)],
  ['$lt', (order) => (order < 0 ? 0 : 1)],
  ['$lte', (order) => Math.max(order, 0)],
])

/** Returns where entries are to a condition on one field, whose operator finds but one type. */
function toSide(
  { fields, collation }: IndexKeys,
  at: number,
  operator: string,
  operand: unknown,
): Side<IndexEntry> {
  const direction = fields[at]?.direction ?? 1
  const type = typeOrderOf(operand)
  const sideOf = SIDES.get(operator) ?? (() => 0)
  return ({ values }) =>
    direction *
    (typeOrderOf(values[at]) - type || sideOf(compareValues(values[at], operand, collation)))
}

/** The first that is not zero decides: those of a second field count where the first has one value. */
function allOf(sides: readonly Side<IndexEntry>[]): Side<IndexEntry> {
  return (entry) => {
    for (const side of sides) {
      const order = side(entry)
      if (order !== 0) return order
    }
    return 0
  }
}

/** Null also stands for a missing field, a list for its items, a pattern for strings. */
const UNBOUND: ReadonlySet<number> = new Set([
  ...[TYPE_ORDER.minKey, TYPE_ORDER.null, TYPE_ORDER.array, TYPE_ORDER.regex, TYPE_ORDER.maxKey],
])

/** Returns whether all that meets a condition is in runs of an index. */
function isBound({ operator, operand }: Condition): boolean {
  const operands = operator === '$in' ? (operand as unknown[]) : [operand]
  return SIDES.has(operator) && !operands.some((one) => UNBOUND.has(typeOrderOf(one)))
}
