import type { Document } from 'mongodb'
import { toList } from '../../core/checked-query.ts'
import { InvalidQuery } from '../../core/errors/coded-errors.ts'
import type { Query } from '../../core/params.ts'
import { CURSOR_NAMES } from '../../core/query-names.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { MongoDBSettings, Paginate } from '../mongodb-options.ts'
import { toObjectId } from '../object-id.ts'
import { isTextSearch, readCount, readSelect, withTextCondition } from './query-filters.ts'
import { COMPARING, checkConditionList, checkDefined, LOGICAL } from './query-operators.ts'

/** A query in the parts that the driver takes. */
export interface SplitQuery {
  /** The conditions, with ObjectIds in `_id`. */
  readonly filter: Document
  /** How many records one `find` returns, `undefined` for all of them. */
  readonly limit: number | undefined
  /** Whether the result is `{ total, limit, skip, data }` rather than an array. */
  readonly paged: boolean
  readonly skip: number
  readonly sort: Document | undefined
  /** Field names, without the id, which is always there. */
  readonly select: readonly string[] | undefined
}

/** Operators whose value is compared with the field, so it is converted to an id if the field is one. */
const COMPARES: ReadonlySet<string> = new Set([...COMPARING, '$all', '$not'])

/**
 * Returns the parts of a query. Operators are not checked here, so that trusted callers can use all that the
 * server supports.
 * @throws {BadRequest} a malformed `$limit`, `$skip`, `$select` or `$search`, `undefined` as a condition, or
 *   a name that asks for a page with cursors, which only `find` supports
 */
export function splitQuery(query: Query, settings: MongoDBSettings): SplitQuery {
  const { $limit, $skip, $sort, $select, ...conditions } = query
  for (const name of CURSOR_NAMES) {
    if (conditions[name] === undefined) continue
    throw new InvalidQuery(`${name} is only possible in find, and not in live queries and exports`)
  }
  const isSearch = Object.hasOwn(conditions, '$search') && isTextSearch('$search', settings)
  const withObjectIds = !settings.disableObjectify
  return {
    filter: isSearch
      ? createSearchFilter(conditions, withObjectIds)
      : createFilter(conditions, withObjectIds),
    ...resolvePageSize($limit, settings.paginate),
    skip: $skip === undefined ? 0 : (readCount('$skip', $skip) ?? 0),
    sort: $sort as Document | undefined,
    select: $select === undefined ? undefined : readSelect($select),
  }
}

/** Returns only the selection of a query, for new records: nothing is searched. */
export function selectOnly({ $select }: Query): SplitQuery {
  const select = $select === undefined ? undefined : readSelect($select)
  return { filter: {}, limit: undefined, paged: false, skip: 0, sort: undefined, select }
}

/** Returns a filter for the record with an id; conditions on the id in the filter apply as well. */
export function createRecordFilter(filter: Document, id: string, value: unknown): Document {
  return Object.hasOwn(filter, id)
    ? { $and: [{ [id]: value }, filter] }
    : { [id]: value, ...filter }
}

/** Returns whether a filter has no condition at all, like `{}` and `{ $and: [{}] }`. */
export function isEmptyFilter(filter: unknown): boolean {
  if (!isPlainObject(filter)) return false
  return Object.entries(filter).every(([name, list]) => {
    if (name === '$and') return toList(list)?.every(isEmptyFilter) ?? false
    return name === '$or' && (toList(list)?.some(isEmptyFilter) ?? false)
  })
}

/** A text search is a condition on the whole record, so it is only allowed at the top. */
function createSearchFilter(conditions: Query, withObjectIds: boolean): Document {
  const { $text, ...others } = withTextCondition(conditions)
  return { ...createFilter(others, withObjectIds), $text }
}

function createFilter(conditions: Query, withObjectIds: boolean): Document {
  const filter: Document = {}
  for (const [name, value] of Object.entries(conditions)) {
    if (name === '__proto__') throw new InvalidQuery('Invalid query parameter __proto__')
    if (LOGICAL.has(name) && Array.isArray(value)) {
      checkConditionList(name, value)
      if (value.length === 0) continue
      filter[name] = value.map((item) =>
        isPlainObject(item) ? createFilter(item, withObjectIds) : toOperand(item, name, false),
      )
    } else filter[name] = toOperand(value, name, withObjectIds && name === '_id')
  }
  return filter
}

function toOperand(value: unknown, name: string, isId: boolean): unknown {
  checkDefined(value, name)
  if (Array.isArray(value)) return value.map((item) => toOperand(item, name, isId))
  if (!isPlainObject(value)) return isId ? toObjectId(value) : value
  const copy = Object.entries(value).map(([key, inner]): [string, unknown] => [
    key,
    toOperand(inner, key, isId && COMPARES.has(key)),
  ])
  return Object.fromEntries(copy)
}

/**
 * Returns the page size for a `$limit`. `paginate.default` turns pages on; with only `paginate.max`, the
 * result is an array of at most that size.
 */
function resolvePageSize(
  $limit: unknown,
  paginate: Paginate | false,
): Pick<SplitQuery, 'limit' | 'paged'> {
  const { default: size, max } = paginate || {}
  const limit = $limit === undefined ? undefined : readCount('$limit', $limit)
  const wanted = limit ?? (size || max)
  const bounded = wanted === undefined || max === undefined ? wanted : Math.min(wanted, max)
  return { limit: bounded, paged: Boolean(size) }
}
