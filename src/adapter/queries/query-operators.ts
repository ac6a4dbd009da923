import type { OperatorPlace } from '../../core/checked-query.ts'
import { toList } from '../../core/checked-query.ts'
import { InvalidQuery, QueryTooLarge } from '../../core/errors/coded-errors.ts'
import { withHint } from '../../core/errors/hint.ts'
import type { Query } from '../../core/params.ts'
import { isObject, isPlainObject, isSingleValue } from '../../core/value-kind.ts'
import { isReservedName } from '../field-path.ts'
import type { MongoDBSettings, QueryFilter } from '../mongodb-options.ts'
import { checkPattern } from './pattern-check.ts'
import {
  isTextSearch,
  readCount,
  readCursor,
  readSearch,
  readSelect,
  readSort,
  readTotal,
} from './query-filters.ts'

/** Operators that join conditions, each with a list of them. */
export const LOGICAL: ReadonlySet<string> = new Set(['$or', '$and', '$nor'])

/** Operators that compare one field, and so never appear in place of a field name. */
export const COMPARING: ReadonlySet<string> = new Set([
  ...['$eq', '$ne', '$in', '$nin', '$lt', '$lte', '$gt', '$gte'],
])

/** Operators that run code or expressions: no schema can allow them, and no hint says how to. */
export const REFUSED: ReadonlySet<string> = new Set([
  ...['$where', '$expr', '$function', '$accumulator', '$jsonSchema'],
])

const ALLOWED: ReadonlySet<string> = new Set(['$or', '$and', ...COMPARING])
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['$le', '$lte'],
  ['$ge', '$gte'],
])

/** Operators for one field that services may allow. */
const ALLOWABLE: ReadonlySet<string> = new Set([
  ...['$regex', '$options', '$exists', '$type', '$all', '$elemMatch', '$size', '$mod', '$not'],
  ...['$nor', '$text', '$search', '$near', '$nearSphere', '$geoWithin', '$geoIntersects'],
  '$geometry',
])

/** A `$` that the server or a careless parser may read as an operator: never a field name. */
const OPERATOR_LIKE = /^\s*(?:[$\uFF04\uFE69]|%24)|\.\$/

/** The running count of one query. */
interface Check {
  readonly settings: MongoDBSettings
  /** How long patterns may be; `null` where they are not checked. */
  readonly patternLength: number | null
  conditions: number
  values: number
}

/** Operators with a list of values. */
const OF_VALUES: ReadonlySet<string> = new Set(['$in', '$nin', '$all'])

type Reader = (value: unknown, check: Check, place: QueryPlace) => unknown

const FILTER_READERS: Readonly<Record<string, Reader>> = {
  $limit: (value) => readCount('$limit', value),
  $skip: readSkip,
  $sort: readSort,
  $select: readSelect,
  $after: (value) => readCursor('$after', value),
  $before: (value) => readCursor('$before', value),
  $total: readTotal,
}

/**
 * Returns a checked copy of an external query: only allowed operators at every depth, lists where lists are
 * expected, `$limit` and `$skip` as numbers, nothing `undefined`. The query itself is not changed.
 * @param named the operators that schemas allow at certain places, in addition to those of the settings
 * @param patternLength the limit for patterns of external callers; patterns made by a filter function are
 *   code and are not checked
 * @throws {BadRequest} an operator that is not allowed, a malformed value, or more than the limits
 *   allow; the message names operators and limits, never values
 */
export function sanitizeQuery(
  query: Query,
  settings: MongoDBSettings,
  named: readonly OperatorPlace[] = [],
  patternLength: number | null = null,
): Query {
  if (!isPlainObject(query)) throw new InvalidQuery('The query must be an object')
  const check: Check = { settings, patternLength, conditions: 0, values: 0 }
  const top: QueryPlace = { depth: 0, field: '', own: named, outer: NONE }
  const conditions: [string, unknown][] = []
  const filters: [string, unknown][] = []
  for (const [name, value] of Object.entries(query)) {
    const reader = findReader(name, settings)
    const read = reader?.(value, check, getValuePlace(top, name))
    if (reader === undefined) conditions.push([name, value])
    else if (read !== undefined) filters.push([name, read])
  }
  return {
    ...checkConditions(Object.fromEntries(conditions), 'filter value', top, check),
    ...Object.fromEntries(filters),
  }
}

function findReader(name: string, settings: MongoDBSettings): Reader | undefined {
  if (Object.hasOwn(FILTER_READERS, name)) return FILTER_READERS[name]
  if (isTextSearch(name, settings)) return readSearch
  const filter: QueryFilter | undefined = Object.hasOwn(settings.filters, name)
    ? settings.filters[name]
    : undefined
  if (filter === undefined) return undefined
  return filter === true
    ? (value, check, place) => checkValue(value, name, place, check)
    : (value) => filter(value, settings)
}

/** Checks an object whose keys are fields and logical operators: a query, or an item of `$or`. */
function checkConditions(conditions: Query, kind: string, place: QueryPlace, check: Check): Query {
  for (const name of Object.keys(conditions)) {
    if (COMPARING.has(ALIASES.get(name) ?? name)) throw new InvalidQuery(`Invalid ${kind} ${name}`)
  }
  return checkObject(conditions, kind, place, check)
}

function checkObject(object: Query, kind: string, place: QueryPlace, check: Check): Query {
  checkLimit('depth', place.depth, check)
  check.conditions += Math.max(1, Object.keys(object).length)
  checkLimit('conditions', check.conditions, check)
  const copy: Query = {}
  for (const [key, value] of Object.entries(object)) {
    if (isReservedName(key)) throw new InvalidQuery(`Invalid ${kind} ${key}`)
    if (!OPERATOR_LIKE.test(key)) {
      copy[key] = checkValue(value, key, getValuePlace(place, key), check)
      continue
    }
    const operator = ALIASES.get(key) ?? key
    if (!isAllowed(operator, object, check) && !isNamedAt(place, operator)) {
      throw new InvalidQuery(`Invalid ${kind} ${key}`, undefined, findHint(operator, kind))
    }
    if (Object.hasOwn(copy, operator)) throw new InvalidQuery(`${operator} is given twice`)
    copy[operator] = checkOperand(value, operator, place, check)
  }
  const { patternLength } = check
  if (place.depth > 0 && patternLength !== null) checkPattern(copy, place.field, patternLength)
  return copy
}

/**
 * Returns a hint on how to allow the rejected name, for the log. Only for names that a service could allow:
 * others come from callers probing for gaps.
 */
function findHint(name: string, kind: string): ErrorOptions | undefined {
  const isSearch = name === '$search' && kind === 'filter value'
  if (ALLOWABLE.has(name) && !isSearch) {
    return withHint(`allow it by the option operators: ['${name}']`)
  }
  const isFilter = kind === 'filter value' && /^\$[a-z]{1,20}$/i.test(name) && !REFUSED.has(name)
  return isFilter ? withHint(`name it in the option filters: { ${name}: true }`) : undefined
}

/** The flags of a pattern are allowed wherever the pattern is. */
function isAllowed(operator: string, { $regex }: Query, { settings }: Check): boolean {
  // External callers cannot send a RegExp: server code set it.
  if (operator === '$regex' && $regex instanceof RegExp) return true
  if (ALLOWED.has(operator) || settings.operators.includes(operator)) return true
  return operator === '$options' && $regex !== undefined && settings.operators.includes('$regex')
}

/** @param outer the place of the object that contains the operator */
function checkOperand(value: unknown, operator: string, outer: QueryPlace, check: Check): unknown {
  const isLogical = LOGICAL.has(operator)
  if (!isLogical && !OF_VALUES.has(operator)) {
    return checkValue(value, operator, getValuePlace(outer, operator), check)
  }
  const list = toList(value)
  if (list === undefined) throw new InvalidQuery(`${operator} must be a list`)
  if (!isLogical) return checkList(list, operator, getValuePlace(outer, operator), check)
  checkConditionList(operator, list)
  const place = getConditionsPlace(outer, operator)
  return list.map((item) => {
    if (!isPlainObject(item)) throw new InvalidQuery(`${operator} must be a list of conditions`)
    return checkConditions(item, 'query parameter', place, check)
  })
}

/**
 * Checks the list of `$and`, `$or` or `$nor`. That of `$and` may be empty, and then sets no condition.
 * @throws {BadRequest} the list has no conditions, which the database rejects
 */
export function checkConditionList(operator: string, list: readonly unknown[]): void {
  if (list.length > 0 || operator === '$and') return
  throw new InvalidQuery(`${operator} must be a non-empty list of conditions`)
}

function checkList(
  list: readonly unknown[],
  name: string,
  place: QueryPlace,
  check: Check,
): readonly unknown[] {
  checkLimit('depth', place.depth, check)
  check.values += list.length
  checkLimit('values', check.values, check)
  const itemPlace = getItemPlace(place)
  return list.map((item) => checkValue(item, name, itemPlace, check))
}

function checkValue(value: unknown, name: string, place: QueryPlace, check: Check): unknown {
  checkDefined(value, name)
  if (Array.isArray(value)) return checkList(value, name, place, check)
  if (isPlainObject(value)) return checkObject(value, 'query parameter', place, check)
  // A value that the server gets as a whole cannot contain operators.
  if (!isObject(value) || isSingleValue(value)) return value
  throw new InvalidQuery(`The query has an object of an unknown class for ${name}`)
}

/**
 * Checks that a value of a query reaches the server. The driver drops other values, and a dropped condition
 * matches everything.
 * @throws {BadRequest} `undefined`, a function or a symbol
 */
export function checkDefined(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== 'function' && typeof value !== 'symbol') return
  throw new InvalidQuery(`The query has no value for ${name}`)
}

const LIMIT_MESSAGES = {
  depth: (limit: number) => `The query is nested more than ${limit} levels deep`,
  conditions: (limit: number) => `The query has more than ${limit} conditions`,
  values: (limit: number) => `The lists of the query have more than ${limit} values`,
  skip: (limit: number) => `$skip must not be more than ${limit}`,
} as const

function checkLimit(name: keyof typeof LIMIT_MESSAGES, value: number, { settings }: Check): void {
  const limit = settings.limits[name]
  // Not `value > limit`: that is false for a limit of `undefined` or `NaN`, and all would pass.
  if (!(value <= limit)) throw new QueryTooLarge(LIMIT_MESSAGES[name](limit))
}

function readSkip(value: unknown, check: Check): number | undefined {
  const skip = readCount('$skip', value)
  if (skip !== undefined) checkLimit('skip', skip, check)
  return skip
}

/** Where in a query a check is, and what the schemas of the query name there. */
interface QueryPlace {
  /** How many objects and lists contain it. */
  readonly depth: number
  /** The field of the condition: the closest one around it, or the top-level name. */
  readonly field: string
  /** What schemas name at exactly this place. */
  readonly own: readonly OperatorPlace[]
  /** What they name for the fields of the record, which are the same inside `$or`. */
  readonly outer: readonly OperatorPlace[]
}

const NONE: readonly never[] = []

/** Returns the place of the value of a field or an operator. */
function getValuePlace(place: QueryPlace, name: string): QueryPlace {
  const own = below(allOf(place), name)
  return { depth: place.depth + 1, field: getField(place, name), own, outer: NONE }
}

/** Returns the place of the items of a list. */
function getItemPlace({ depth, field, own }: QueryPlace): QueryPlace {
  return { depth: depth + 1, field, own: itemsOf(own), outer: NONE }
}

/** Returns the place of the conditions in the list of `$or`, `$and` or `$nor`. */
function getConditionsPlace(place: QueryPlace, name: string): QueryPlace {
  const outer = allOf(place)
  const own = itemsOf(below(outer, name))
  return { depth: place.depth + 1, field: getField(place, name), own, outer }
}

/** Returns whether a schema names an operator for the object at a place. */
function isNamedAt({ own, outer }: QueryPlace, operator: string): boolean {
  if (REFUSED.has(operator)) return false
  const places = LOGICAL.has(operator) ? allOf({ own, outer }) : own
  return places.some(({ names }) => names.has(operator))
}

function getField({ depth, field }: QueryPlace, name: string): string {
  return depth > 0 && name.startsWith('$') ? field : name
}

function allOf({ own, outer }: Pick<QueryPlace, 'own' | 'outer'>): readonly OperatorPlace[] {
  return outer.length === 0 ? own : [...own, ...outer]
}

function below(places: readonly OperatorPlace[], name: string): readonly OperatorPlace[] {
  return places.length === 0 ? NONE : places.flatMap(({ names }) => names.get(name) ?? NONE)
}

function itemsOf(places: readonly OperatorPlace[]): readonly OperatorPlace[] {
  return places.length === 0 ? NONE : places.flatMap(({ items }) => items ?? NONE)
}
