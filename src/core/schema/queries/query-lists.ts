import { toList } from '../../checked-query.ts'
import type { Query } from '../../params.ts'
import { isPlainObject } from '../../value-kind.ts'
import { setOwnProperty } from '../plain-objects.ts'

/** As deep as the server takes it; what is deeper stays as it is, for the adapter to refuse. */
const MAX_DEPTH = 100

/** Returns the list of an operator, `undefined` where its value is none. */
type ReadList = (value: unknown) => readonly unknown[] | undefined

/** The names that a list belongs to, and how it is read. */
const LISTS: ReadonlyMap<string, ReadList> = new Map([
  ...['$in', '$nin', '$all', '$select'].map((name) => [name, toValues] as const),
  ...['$or', '$and', '$nor'].map((name) => [name, toList] as const),
])

/**
 * Returns a deep copy of a query in which lists are lists again where they are meant: an object with
 * indexes as keys, which query string parsers make of long lists, and in `$in $nin $all $select` one
 * value alone. Objects of a class, an ObjectId or a Date, are the same ones in the copy.
 */
export function readLists(query: Query): Query {
  return copyObject(query, 0)
}

function copyObject(object: Query, depth: number): Query {
  const copy: Query = {}
  for (const name of Object.keys(object)) {
    const given = object[name]
    // An own `__proto__` stays one: as a prototype, it would get past the validation.
    setOwnProperty(copy, name, copyValue(LISTS.get(name)?.(given) ?? given, depth + 1))
  }
  return copy
}

function copyValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (Array.isArray(value)) return value.map((item) => copyValue(item, depth + 1))
  return isPlainObject(value) ? copyObject(value, depth) : value
}

/** One value stands for a list of one. No list is made of `undefined` and `null`, nor of conditions. */
function toValues(value: unknown): readonly unknown[] | undefined {
  const list = toList(value)
  if (list !== undefined || value === undefined || value === null) return list
  return isPlainObject(value) ? undefined : [value]
}
