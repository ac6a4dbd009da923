import { toList } from '../../checked-query.ts'
import type { Query } from '../../params.ts'
import { isPlainObject } from '../../value-kind.ts'
import { setOwnProperty } from '../plain-objects.ts'

/** The depth that the server accepts; deeper values stay as they are, and the adapter rejects them. */
const MAX_DEPTH = 100

/** Returns the list of an operator, `undefined` if its value is not a list. */
type ReadList = (value: unknown) => readonly unknown[] | undefined

/** The names that take a list, and how it is read. */
const LISTS: ReadonlyMap<string, ReadList> = new Map([
  ...['$in', '$nin', '$all', '$select'].map((name) => [name, toValues] as const),
  ...['$or', '$and', '$nor'].map((name) => [name, toList] as const),
])

/**
 * Returns a deep copy of a query with real lists where lists are expected: converts objects with indexes as
 * keys, which query string parsers produce for long lists, and single values in `$in $nin $all $select`.
 * Instances of classes, such as an ObjectId or a Date, are shared with the copy.
 */
export function readLists(query: Query): Query {
  return copyObject(query, 0)
}

function copyObject(object: Query, depth: number): Query {
  const copy: Query = {}
  for (const name of Object.keys(object)) {
    const given = object[name]
    // An own `__proto__` stays an own property: as a prototype, it would bypass the validation.
    setOwnProperty(copy, name, copyValue(LISTS.get(name)?.(given) ?? given, depth + 1))
  }
  return copy
}

function copyValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (Array.isArray(value)) return value.map((item) => copyValue(item, depth + 1))
  return isPlainObject(value) ? copyObject(value, depth) : value
}

/** A single value counts as a list of one, except `undefined`, `null` and conditions. */
function toValues(value: unknown): readonly unknown[] | undefined {
  const list = toList(value)
  if (list !== undefined || value === undefined || value === null) return list
  return isPlainObject(value) ? undefined : [value]
}
