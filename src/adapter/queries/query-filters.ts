import type { IndexDescription } from 'mongodb'
import type { OperatorPlace } from '../../core/checked-query.ts'
import { toList } from '../../core/checked-query.ts'
import { InvalidCursor, InvalidQuery, QueryTooLarge } from '../../core/errors/coded-errors.ts'
import { withHint } from '../../core/errors/hint.ts'
import type { Query } from '../../core/params.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { isFieldPath, relate, selectOutermost } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'

type SortOrder = Readonly<Record<string, 1 | -1>>

/** The most fields that the server sorts by. */
const MAX_SORT_FIELDS = 32

const PROJECTION_HINT = 'for a projection, set params.docdb: { projection: … }'

const DIGITS = /^[0-9]+$/
const DIRECTIONS: ReadonlyMap<unknown, 1 | -1> = new Map<unknown, 1 | -1>([
  [1, 1],
  ['1', 1],
  [-1, -1],
  ['-1', -1],
])

/**
 * Returns the value of `$limit` or `$skip` as a number, `undefined` if it is not given.
 * @throws {BadRequest} neither a non-negative integer nor a string of decimal digits
 */
export function readCount(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  const count = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count
  throw new InvalidQuery(`${name} must be a whole number from 0 on`)
}

/**
 * Returns the field names of `$select` without those inside another one: the server rejects
 * `['address', 'address.city']`.
 * @throws {BadRequest} not a list of field names
 */
export function readSelect(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined
  const names = toList(value)
  if (names === undefined || !names.every(isFieldPath)) {
    const hint = isPlainObject(value) ? withHint(PROJECTION_HINT) : {}
    throw new InvalidQuery('$select must be a list of field names', undefined, hint)
  }
  return selectOutermost(names)
}

/**
 * Returns `$sort` with directions as numbers.
 * @throws {BadRequest} not an object of field names with 1 or -1
 */
export function readSort(value: unknown): SortOrder | undefined {
  if (value === undefined) return undefined
  if (!isPlainObject(value)) throw new InvalidQuery('$sort must be an object of 1 and -1')
  const pairs = Object.entries(value)
  if (pairs.length > MAX_SORT_FIELDS) {
    throw new QueryTooLarge(`$sort takes at most ${MAX_SORT_FIELDS} fields`)
  }
  const entries = pairs.map(([name, given]): [string, 1 | -1] => {
    const direction = DIRECTIONS.get(given)
    if (direction === undefined || !isFieldPath(name)) {
      throw new InvalidQuery('$sort takes field names with the values 1 and -1')
    }
    return [name, direction]
  })
  return Object.fromEntries(entries)
}

/** Which total a page with cursors has. */
export type TotalKind = boolean | 'estimate' | { readonly cap: number }

/**
 * Returns the cursor of `$after` or `$before`, `''` for an end of all records.
 * @throws {BadRequest} not a string
 */
export function readCursor(name: string, value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  throw new InvalidCursor(`${name} must be a cursor, or an empty string`)
}

/**
 * Returns which total `$total` asks for.
 * @throws {BadRequest} it is not `true`, `false`, `'estimate'` or `{ cap }` with a positive number
 */
export function readTotal(value: unknown): TotalKind | undefined {
  if (value === undefined || typeof value === 'boolean' || value === 'estimate') return value
  if (value === 'true' || value === 'false') return value === 'true'
  const [name, ...others] = isPlainObject(value) ? Object.keys(value) : []
  const cap = name === 'cap' && readCount('$total[cap]', (value as Query)['cap'])
  if (cap && others.length === 0) return { cap }
  throw new InvalidQuery("$total must be true, false, 'estimate' or { cap: 1000 }")
}

const MAX_SEARCH_LENGTH = 256

/** The name of the text search at the top of a query. */
const SEARCH = '$search'

/** Returns whether a top-level name of a query is an allowed text search. */
export function isTextSearch(name: string, { filters }: MongoDBSettings): boolean {
  return name === SEARCH && Object.hasOwn(filters, name) && filters[name] === true
}

/** Returns the settings of a call, with the text search if the schemas of its query name it. */
export function withNamedSearch(
  settings: MongoDBSettings,
  named: readonly OperatorPlace[],
): MongoDBSettings {
  const isNamed = named.some(({ names }) => names.has(SEARCH))
  if (!isNamed || Object.hasOwn(settings.filters, SEARCH)) return settings
  return { ...settings, filters: { ...settings.filters, [SEARCH]: true } }
}

/**
 * Returns a query whose `$search` is replaced by the equivalent `$text` condition.
 * @throws {BadRequest} as {@link readSearch}, or there is also a `$text`
 */
export function withTextCondition(query: Query): Query {
  if (!Object.hasOwn(query, SEARCH)) return query
  const { [SEARCH]: words, ...others } = query
  if (Object.hasOwn(others, '$text')) {
    throw new InvalidQuery('$search and $text cannot be combined in one query')
  }
  return { ...others, $text: { $search: readSearch(words) } }
}

/**
 * Returns the words of the `$search` of a query.
 * @throws {BadRequest} it is not a string of 1 to 256 characters
 */
export function readSearch(value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= MAX_SEARCH_LENGTH) return value
  throw new InvalidQuery(`$search must be a string of 1 to ${MAX_SEARCH_LENGTH} characters`)
}

/**
 * Returns why a text search could reveal hidden fields to external callers, `undefined` if it cannot. A
 * collection has at most one text index, so the one in the option `indexes` is the only one.
 */
export function findSearchLeak({ hidden, indexes }: MongoDBSettings): string | undefined {
  if (hidden.length === 0) return undefined
  const fields = indexes.flatMap(listTextFields)
  if (fields.length === 0) {
    return "with hidden fields it needs the text index in the option 'indexes', which tells its fields"
  }
  const leak = fields.find((path) => path.includes('$**') || relate(path, hidden) !== 'apart')
  return leak === undefined ? undefined : `the text index has hidden fields in '${leak}'`
}

/** Returns the paths that an index makes searchable; the server adds those that have a weight. */
function listTextFields({ key, weights }: IndexDescription): readonly string[] {
  const paths = listPairs(key).flatMap(([path, kind]) => (kind === 'text' ? [path] : []))
  return paths.length === 0 ? [] : [...paths, ...listPairs(weights ?? {}).map(([path]) => path)]
}

/** The driver also accepts maps. */
function listPairs(fields: object): readonly (readonly [string, unknown])[] {
  return fields instanceof Map ? [...fields] : Object.entries(fields)
}
