import { toList } from '../../core/checked-query.ts'
import { BadRequest } from '../../core/errors/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { isFieldPath, toOutermost } from '../field-path.ts'

/** What `$limit`, `$skip`, `$sort` and `$select` of a query say, after they were read. */
export type SortOrder = Readonly<Record<string, 1 | -1>>

/** What the server sorts by at most. */
const MAX_SORT_FIELDS = 32

const DIGITS = /^[0-9]+$/
const DIRECTIONS: ReadonlyMap<unknown, 1 | -1> = new Map<unknown, 1 | -1>([
  [1, 1],
  ['1', 1],
  [-1, -1],
  ['-1', -1],
])

/**
 * Returns the number that `$limit` or `$skip` stands for, `undefined` when it is not given.
 * @throws {BadRequest} neither a whole number from 0 on nor its decimal digits
 */
export function readCount(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  const count = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count
  throw new BadRequest(`${name} must be a whole number from 0 on`)
}

/**
 * Returns the field names of `$select` without those that lie inside another one: the server
 * refuses `['address', 'address.city']`.
 * @throws {BadRequest} not a list of field names
 */
export function readSelect(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined
  const names = toList(value)
  if (names === undefined || !names.every(isFieldPath)) {
    throw new BadRequest('$select must be a list of field names')
  }
  return toOutermost(names)
}

/**
 * Returns `$sort` with directions as numbers.
 * @throws {BadRequest} not an object of field names with 1 or -1
 */
export function readSort(value: unknown): SortOrder | undefined {
  if (value === undefined) return undefined
  if (!isPlainObject(value)) throw new BadRequest('$sort must be an object of 1 and -1')
  const pairs = Object.entries(value)
  if (pairs.length > MAX_SORT_FIELDS) {
    throw new BadRequest(`$sort takes at most ${MAX_SORT_FIELDS} fields`)
  }
  const entries = pairs.map(([name, given]): [string, 1 | -1] => {
    const direction = DIRECTIONS.get(given)
    if (direction === undefined || !isFieldPath(name)) {
      throw new BadRequest('$sort takes field names with the values 1 and -1')
    }
    return [name, direction]
  })
  return Object.fromEntries(entries)
}
