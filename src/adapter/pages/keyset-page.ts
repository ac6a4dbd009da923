import type { CountDocumentsOptions, Document } from 'mongodb'
import { InvalidQuery } from '../../core/errors/coded-errors.ts'
import type { Page, Query } from '../../core/params.ts'
import { CURSOR_NAMES } from '../../core/query-names.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import type { AdapterCall } from '../adapter-call.ts'
import type { CallFeature } from '../call-feature.ts'
import { selectOutermost } from '../field-path.ts'
import { TYPE_ORDER, typeOrderOf } from '../matching/bson-type.ts'
import { countMatching, findAll, findCounted } from '../queries/find.ts'
import { checkRawQuery } from '../queries/hidden-field-check.ts'
import type { TotalKind } from '../queries/query-filters.ts'
import { readCursor, readSort, readTotal } from '../queries/query-filters.ts'
import { pickSelected } from '../queries/select.ts'
import type { PageCursors } from './page-cursor.ts'
import { createPageCursors } from './page-cursor.ts'

/** Pages with cursors. Only `find` has them: `splitQuery()` rejects the names in all other calls. */
export const PAGES: CallFeature = {
  askedBy: { names: CURSOR_NAMES },
  createRule({ service, params, isFind }) {
    const asked = isFind ? readKeysetRequest(params.query) : undefined
    if (asked === undefined) return undefined
    return {
      query: asked.query,
      find: (call) =>
        findKeysetPage(call, asked, (scope) => createPageCursors(service, call.settings, scope)),
    }
  },
}

/** The keyset page that a query asks for. */
interface KeysetRequest {
  /** The query name that asks for it: `$total` on its own asks for the first page. */
  readonly name: '$after' | '$before' | '$total'
  /** The record after which the page begins, or before which it ends; `''` for the first or last page. */
  readonly cursor: string
  readonly total: TotalKind | undefined
  /** The other parts of the query. */
  readonly query: Query
}

/**
 * Returns the keyset page that a query asks for, `undefined` for none.
 * @throws {BadRequest} a malformed `$after`, `$before` or `$total`, or names that exclude each other
 */
function readKeysetRequest(given: Query = {}): KeysetRequest | undefined {
  if (CURSOR_NAMES.every((name) => given[name] === undefined)) return undefined
  const { $after, $before, $total, ...query } = given
  const after = readCursor('$after', $after)
  const before = readCursor('$before', $before)
  const total = readTotal($total)
  const name = after !== undefined ? '$after' : before !== undefined ? '$before' : '$total'
  const other = after !== undefined && before !== undefined ? '$before' : '$skip'
  if (given[other] === undefined) return { name, cursor: after ?? before ?? '', total, query }
  throw new InvalidQuery(`${name} and ${other} cannot be combined in one query`)
}

/** One key of an order. */
interface SortKey {
  readonly path: string
  readonly isAscending: boolean
}

/**
 * Resolves to a page with cursors. It takes one command, unless a total is requested. Sort values may be of any
 * type that cursors can hold, `null` or missing.
 * @param createCursors returns the cursors of a scope
 * @throws {BadRequest} the call, or a sort value of a record, does not allow a keyset page
 */
async function findKeysetPage(
  call: AdapterCall,
  { name, cursor, total }: KeysetRequest,
  createCursors: (scope: readonly unknown[]) => PageCursors,
): Promise<Page<Document>> {
  const limit = checkCall(call, name)
  const { collection, query, settings, driver } = call
  const keys = createOrder(query.sort)
  const cursors = createCursors([collection.namespace, keys, driver.collation])
  const isBackward = name === '$before'
  const order = isBackward ? keys.map((key) => ({ ...key, isAscending: !key.isAscending })) : keys
  const beyond = cursor === '' ? undefined : createBeyond(order, cursors.open(name, cursor))
  const { select } = query
  const paths = keys.map(({ path }) => path)
  const fetched: AdapterCall = {
    ...call,
    query: {
      ...query,
      filter: beyond === undefined ? query.filter : { $and: [query.filter, beyond] },
      sort: Object.fromEntries(order.map(({ path, isAscending }) => [path, isAscending ? 1 : -1])),
      limit: limit + 1,
      select: select && selectOutermost([...select, ...paths]),
    },
  }
  const find = (): Promise<Document[]> => findAll(fetched)
  const [found, counted] = total
    ? await findCounted(call, find, () => countTotal(call, total))
    : [await find(), {}]
  const values = found.map((record) => readSortValues(record, paths, driver.collation))
  const hasMore = found.length > limit
  if (hasMore) found.pop()
  if (hasMore) values.pop()
  if (isBackward) {
    found.reverse()
    values.reverse()
  }
  const [first, last] = [values[0], values.at(-1)].map((one) => (one ? cursors.seal(one) : null))
  const ends = isBackward
    ? { hasPrevious: hasMore, previousCursor: hasMore ? first : null, nextCursor: last }
    : { hasNext: hasMore, nextCursor: hasMore ? last : null, previousCursor: first }
  const data = select ? found.map((one) => pickSelected(one, select, settings.id)) : found
  // A cast, since `Page` describes calls without cursors, with a total and a skip.
  return { ...counted, limit, data, ...ends } as unknown as Page<Document>
}

/** Driver options that change the order or the records of the query. */
const REFUSED_OPTIONS: readonly string[] = [
  ...['sort', 'projection', 'min', 'max', 'returnKey', 'singleBatch', 'allowPartialResults'],
]

/** Operators that sort by distance. */
const DISTANCE: ReadonlySet<string> = new Set(['$near', '$nearSphere'])

/**
 * Returns the size of the page.
 * @throws {BadRequest} the call does not allow a keyset page; names the conflict
 */
function checkCall(
  { query, hidden, settings, pipeline, driver }: AdapterCall,
  name: string,
): number {
  const { limit, paged, filter, sort } = query
  const refuse = (reason: string): never => {
    throw new InvalidQuery(`${name} is not possible ${reason}`)
  }
  if (!paged || limit === undefined) return refuse('in a service without pages')
  if (limit === 0) refuse('with a $limit of 0')
  if (pipeline !== null) refuse('with params.pipeline')
  const options = driver as Readonly<Record<string, unknown>>
  const option = REFUSED_OPTIONS.find((one) => options[one] !== undefined)
  if (option !== undefined) refuse(`with params.docdb.${option}`)
  const operator = findDistance(filter)
  if (operator !== undefined) refuse(`with ${operator}`)
  if (hidden.length > 0) checkRawQuery({ $sort: sort }, settings)
  return limit
}

function findDistance(value: unknown): string | undefined {
  if (!Array.isArray(value) && !isPlainObject(value)) return undefined
  for (const [name, inner] of Object.entries(value)) {
    const found = DISTANCE.has(name) ? name : findDistance(inner)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The most fields that a page is sorted by, not counting `_id`. The condition for the records after a cursor grows with
 * the square of their number, and `limits` does not count it.
 */
const MAX_CURSOR_FIELDS = 8

/** Returns the keys of a total order: keys after the unique `_id` have no effect. */
function createOrder(sort: unknown): readonly SortKey[] {
  const given = Object.entries(readSort(sort) ?? {})
  const place = given.findIndex(([path]) => path === '_id')
  const direction = given.at(-1)?.[1] ?? 1
  const entries = place === -1 ? [...given, ['_id', direction] as const] : given.slice(0, place + 1)
  if (entries.length > MAX_CURSOR_FIELDS + 1) {
    throw new InvalidQuery(
      `$sort takes at most ${MAX_CURSOR_FIELDS} fields in pages with cursors, not counting _id`,
    )
  }
  return entries.map(([path, value]) => ({ path, isAscending: value === 1 }))
}

/** The BSON types in MongoDB's order. Lists sort by their items. */
const TYPES: readonly string[] = Object.keys(TYPE_ORDER).filter(
  (name) => name !== 'array' && name !== 'emptyArray',
)

/** The types of values that cursors can hold, by their places in MongoDB's order. */
const CURSOR_TYPES: ReadonlyMap<number, string> = new Map(
  (['null', 'number', 'string', 'binData', 'objectId', 'bool', 'date'] as const).map((name) => [
    TYPE_ORDER[name],
    name,
  ]),
)

function typeOf(value: unknown): string | undefined {
  return CURSOR_TYPES.get(typeOrderOf(value))
}

/**
 * Returns the sort values of a record.
 * @throws {BadRequest} a cursor cannot hold one of them; names its field
 */
function readSortValues(
  record: Document,
  paths: readonly string[],
  collation: unknown,
): readonly unknown[] {
  return paths.map((path) => {
    let value: unknown = record
    for (const name of path.split('.')) {
      if (Array.isArray(value)) break
      value = isObject(value) && Object.hasOwn(value, name) ? value[name] : null
    }
    // Two strings that are equal under a collation would have no order.
    const isUnordered = path === '_id' && collation !== undefined && typeof value === 'string'
    if (typeOf(value) !== undefined && !isUnordered) return value
    const other = Array.isArray(value) ? 'a list' : 'a value of its type'
    const kind = isUnordered ? 'a string, with a collation,' : other
    throw new InvalidQuery(`Cannot sort pages with cursors by ${kind} in '${path}'`)
  })
}

/**
 * Returns the condition on the records after the one with these values. Each alternative bounds the first
 * key, so that an index serves all of them.
 */
function createBeyond(keys: readonly SortKey[], values: readonly unknown[]): Document {
  const equal = keys.map(({ path }, index) => ({ [path]: values[index] }))
  const $or = keys.flatMap((key, index) =>
    listBeyond(key, values[index]).map((beyond) =>
      Object.assign({}, ...equal.slice(0, index), beyond),
    ),
  )
  return { $or }
}

/** Returns conditions for the values, of any type, that sort after a given one. A record must meet one condition. */
function listBeyond({ path, isAscending }: SortKey, value: unknown): readonly Document[] {
  const place = TYPES.indexOf(typeOf(value) ?? '')
  const types = isAscending ? TYPES.slice(place + 1) : TYPES.slice(0, place)
  const $type = types.filter((type) => type !== 'null')
  const tests = [
    ...listBeyondOfType(value, isAscending),
    // A missing field has no type.
    ...(types.includes('null') ? [null] : []),
    // An empty list sorts before `null`. It is included, so that `readSortValues` rejects it by name.
    ...(isAscending ? [] : [[]]),
    { $type },
  ]
  return tests.map((test) => ({ [path]: test }))
}

/** NaN sorts before all numbers, but compares as neither above nor below any. */
function listBeyondOfType(value: unknown, isAscending: boolean): readonly unknown[] {
  const type = typeOf(value)
  if (type === 'null') return []
  const isNaNumber = type === 'number' && String(value) === 'NaN'
  if (isNaNumber) return isAscending ? [{ $gte: Number.NEGATIVE_INFINITY }] : []
  if (isAscending) return [{ $gt: value }]
  return [{ $lt: value }, ...(type === 'number' ? [Number.NaN] : [])]
}

/** Resolves to the part of a page with the number of records. */
async function countTotal(call: AdapterCall, total: true | 'estimate' | { readonly cap: number }) {
  if (total === true) return { total: await countMatching(call) }
  if (total === 'estimate') {
    // From the metadata if there is no condition at all, not even one of a hook.
    const settings = { ...call.settings, useEstimatedDocumentCount: true }
    return { total: await countMatching({ ...call, settings }) }
  }
  const { cap } = total
  const options = { ...call.driver, limit: cap + 1 } as CountDocumentsOptions
  const count = await call.collection.countDocuments(call.query.filter, options)
  return { total: Math.min(count, cap), isTotalCapped: count > cap }
}
