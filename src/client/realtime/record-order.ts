import { isObject } from '../../core/value-kind.ts'

/** Negative if the first of two values comes first, 0 if they are equal, `NaN` if only the server knows. */
type Compare = (one: unknown, other: unknown) => number

/**
 * Returns a comparison of records by a `$sort`, with the order of the server for null, numbers, strings, booleans, and
 * dates, which are strings here. Lists, objects and fields that are missing from a record have no known order.
 * Collations are unknown, so the order of the server may differ.
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

/** A date in JSON. The format differs before the year 0 and after 9999. */
const DATE = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function compareValues(one: unknown, other: unknown): number {
  if ([one, other].some((value) => value === undefined || isObject(value))) return Number.NaN
  const order = toRank(one) - toRank(other)
  if (order !== 0 || one === null) return order
  const [a, b] = [one, other] as [string, string]
  // By code units: alphabetical order differs between servers.
  const byText = a < b ? -1 : Number(a > b)
  const [isDate, isOtherDate] = [DATE.test(a), DATE.test(b)]
  if (!isDate && !isOtherDate) return byText
  // Dates come after all strings. The order is unknown only if that differs from the order of their texts.
  const byTime = isDate && isOtherDate ? Date.parse(a) - Date.parse(b) : isDate ? 1 : -1
  return Math.sign(byTime) === byText ? byText : Number.NaN
}

/** Returns the rank of a value's type in the order of MongoDB. */
function toRank(value: unknown): number {
  return value === null ? 0 : ['number', 'string', 'boolean'].indexOf(typeof value) + 1
}
