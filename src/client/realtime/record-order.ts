import { isObject } from '../../core/value-kind.ts'

/** Negative if the first of two values comes before the second, 0 if they stand together. */
type Compare = (one: unknown, other: unknown) => number

/**
 * Returns what compares records by a `$sort`, as the server does where values are missing, null,
 * numbers, strings, booleans, or dates, which are strings of one format here. Of anything else, lists
 * and objects, it makes no order, nor does it know collations: the server may have another one then.
 */
export function compareBy(sort: unknown): Compare {
  const fields = isObject(sort) ? Object.entries(sort) : []
  return (one, other) => {
    for (const [path, direction] of fields) {
      const order = compareValues(readPath(one, path), readPath(other, path))
      if (order !== 0) return Number(direction) < 0 ? -order : order
    }
    return 0
  }
}

function readPath(record: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => {
    return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }, record)
}

function compareValues(one: unknown, other: unknown): number {
  const order = toRank(one) - toRank(other)
  if (order !== 0 || isObject(one) || one == null) return order
  const [a, b] = [one, other] as [string, string]
  // By code units: what an alphabet says differs from server to server.
  return a < b ? -1 : Number(a > b)
}

/** Values of different types stand in the order of MongoDB. */
function toRank(value: unknown): number {
  return value == null ? 0 : ['number', 'string', 'object', 'boolean'].indexOf(typeof value) + 1
}
