import { BodyTooComplex, FieldNotWritable, InvalidData } from '../../core/errors/coded-errors.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { isReservedName, relate } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { checkId, isSameId } from '../object-id.ts'
import { checkHiddenConditions } from '../queries/hidden-field-check.ts'
import { COMPARING } from '../queries/query-operators.ts'
import { checkRecord, createFieldError, listRecords } from './write-data.ts'

/**
 * Checks external data for new records, one or a list: fields only, and no id, unless the option
 * `allowClientId` lets callers choose a usable one.
 * @param own fields that only the server sets
 * @throws {BadRequest} more records than `limits.records`, operators, dotted names, numbers that JSON
 *   can't hold, an id
 */
export function checkNewRecords(
  data: unknown,
  settings: MongoDBSettings,
  own: readonly string[] = [],
): void {
  const limit = settings.limits.records
  // Not `length > limit`: that is false for a limit of `undefined` or `NaN`.
  if (Array.isArray(data) && !(data.length <= limit)) {
    throw new BodyTooComplex(`The data has more than ${limit} records`)
  }
  for (const record of listRecords(data)) {
    checkValue(record)
    const set = own.find((field) => record[field] !== undefined)
    if (set !== undefined) throw createFieldError(set)
    for (const name of ['_id', settings.id]) {
      if (record[name] === undefined) continue
      if (!settings.allowClientId) throw createFieldError(name)
      checkId(record[name])
    }
  }
}

/**
 * Checks external data for `update` or `patch`: operators and dotted names only as the option
 * `updateOperators` lists them, and no other id than the record's.
 * @throws {BadRequest} as in {@link checkNewRecords}
 */
export function checkChange(data: unknown, id: unknown, settings: MongoDBSettings): void {
  checkRecord(data)
  for (const [name, value] of Object.entries(data)) {
    if (name.startsWith('$')) checkUpdateOperator(name, value, settings)
  }
  const fields = Object.entries(data).filter(([name]) => !name.startsWith('$'))
  const paths = settings.updateOperators.filter((name) => !name.startsWith('$'))
  checkValue(Object.fromEntries(fields), 0, new Set(paths))
  const given = data[settings.id]
  if (given !== undefined && !isSameId(given, id)) {
    throw new FieldNotWritable(`The field '${settings.id}' of a record cannot be changed`)
  }
}

/** The deepest record that the server stores; it bounds the recursion here as well. */
const MAX_DEPTH = 100

/** The deepest nesting that the server accepts, including updates. */
const MAX_NESTING = 200

/** No names other than plain field names. */
const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Checks an external value that is to be stored.
 * @param allowed names that are otherwise rejected, for the keys of the value itself
 * @param allowedBelow the same for the keys of what is inside it
 * @throws {BadRequest} operators, dotted names, numbers that JSON cannot hold, too many levels
 */
function checkValue(
  value: unknown,
  depth = 0,
  allowed: ReadonlySet<string> = NO_NAMES,
  allowedBelow: ReadonlySet<string> = NO_NAMES,
): void {
  if (depth > MAX_DEPTH) refuseDepth(MAX_DEPTH)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new InvalidData('The data has a number that is not finite')
  }
  if (typeof value === 'bigint') checkLong(value)
  if (Array.isArray(value)) {
    for (const item of value) checkValue(item, depth + 1, allowedBelow, allowedBelow)
  }
  if (value instanceof Map) checkValue(Object.fromEntries(value), depth, NO_NAMES, allowedBelow)
  if (!isPlainObject(value)) return
  for (const [name, inner] of Object.entries(value)) {
    if (!allowed.has(name)) checkName(name)
    checkValue(inner, depth + 1, allowedBelow, allowedBelow)
  }
}

/** @throws {BadRequest} a bigint has more than 64 bits */
export function checkLong(value: bigint): void {
  if (BigInt.asIntN(64, value) === value) return
  throw new InvalidData('The data has a bigint of more than 64 bits')
}

/** @throws {BadRequest} an operator, a dotted path, or a name that is special in JavaScript or BSON */
function checkName(name: string): void {
  if (name.includes('.') || name.startsWith('$') || isReservedName(name)) refuseName(name)
}

/**
 * Checks a value that an internal call stores: it may once have come as JSON, and must not imitate an
 * ObjectId.
 * @throws {BadRequest} a name that is special in JavaScript or BSON
 */
export function checkReservedNames(value: unknown, depth = 0): void {
  // A circular record has no end.
  if (depth > MAX_NESTING) refuseDepth(MAX_NESTING)
  if (typeof value === 'bigint') checkLong(value)
  if (Array.isArray(value)) for (const item of value) checkReservedNames(item, depth + 1)
  if (value instanceof Map) checkReservedNames(Object.fromEntries(value), depth)
  if (!isPlainObject(value)) return
  for (const [name, inner] of Object.entries(value)) {
    if (isReservedName(name)) refuseName(name)
    checkReservedNames(inner, depth + 1)
  }
}

function refuseDepth(most: number): never {
  throw new BodyTooComplex(`The data is nested more than ${most} levels deep`)
}

function refuseName(name: string): never {
  throw new InvalidData(`The data has the field name '${name}', which is not allowed`)
}

/**
 * Checks an external update operator.
 * @throws {BadRequest} the option `updateOperators` does not list the operator or a dotted path in it, the id
 *   would change, or the operator involves a hidden field
 */
function checkUpdateOperator(name: string, fields: unknown, settings: MongoDBSettings): void {
  const operator = UPDATE_OPERATORS.get(name)
  if (operator === undefined || !settings.updateOperators.includes(name)) {
    throw new InvalidData(`The operator ${name} is not allowed`)
  }
  if (!isPlainObject(fields))
    throw new InvalidData(`The operator ${name} takes an object of fields`)
  const { modifiers = NO_NAMES, reads } = operator
  for (const [path, value] of Object.entries(fields)) {
    checkPath(name, path, settings)
    if (operator.takesPath) checkTarget(name, value, settings)
    else checkValue(value, 1, modifiers, reads === 'conditions' ? modifiers : NO_NAMES)
    checkHidden(name, reads, path, value, settings.hidden)
  }
}

/** `{ $rename: { from: 'to' } }` writes the field `to`, so that is checked like any path. */
function checkTarget(name: string, target: unknown, settings: MongoDBSettings): void {
  if (typeof target !== 'string' || target === '') {
    throw new InvalidData(`The operator ${name} takes the names of fields`)
  }
  checkPath(name, target, settings)
  if (relate(target, settings.hidden) !== 'apart') refuseHidden(name, target)
}

function checkPath(name: string, path: string, settings: MongoDBSettings): void {
  if (['_id', settings.id].some((id) => path === id || path.startsWith(`${id}.`))) {
    throw new FieldNotWritable(`The operator ${name} must not change the id`)
  }
  if (!settings.updateOperators.includes(path)) checkName(path)
}

/**
 * A hidden field can be written by its plain name, `{ password }`, but not by an operator, whose result could
 * reveal its value.
 */
function checkHidden(
  name: string,
  reads: UpdateOperator['reads'],
  path: string,
  value: unknown,
  hidden: readonly string[],
): void {
  const relation = relate(path, hidden)
  if (relation === 'apart') return
  // The order of a sorted list tells which item was greater.
  const isSorted = isPlainObject(value) && Object.hasOwn(value, '$sort')
  if (relation === 'inside' || reads === 'all' || isSorted) refuseHidden(name, path)
  if (reads === 'conditions') checkHiddenConditions(value, path, hidden)
}

function refuseHidden(name: string, path: string): never {
  throw new FieldNotWritable(`The field '${path}' cannot be changed by ${name}`)
}

/** The operand of an update operator, and how external callers may use it. */
interface UpdateOperator {
  /** Keys that modify the operator, `{ $push: { tags: { $each: […] } } }`; in conditions at any depth. */
  readonly modifiers?: ReadonlySet<string>
  /** Whether the value is the path of another field. */
  readonly takesPath?: true
  /**
   * What it reads of the field, and so may reveal of a hidden field inside: `conditions` read the fields that
   * they name, `all` compares or moves the whole value.
   */
  readonly reads: 'nothing' | 'conditions' | 'all'
}

/** Operators by name; the effect of any other is unknown. */
export const UPDATE_OPERATORS: ReadonlyMap<string, UpdateOperator> = new Map([
  ['$set', { reads: 'nothing' }],
  ['$setOnInsert', { reads: 'nothing' }],
  ['$unset', { reads: 'nothing' }],
  ['$pop', { reads: 'nothing' }],
  ['$currentDate', { reads: 'nothing', modifiers: new Set(['$type']) }],
  ['$push', { reads: 'nothing', modifiers: new Set(['$each', '$position', '$slice', '$sort']) }],
  ['$addToSet', { reads: 'all', modifiers: new Set(['$each']) }],
  ['$pull', { reads: 'conditions', modifiers: COMPARING }],
  ['$pullAll', { reads: 'all' }],
  ['$rename', { reads: 'all', takesPath: true }],
  ['$inc', { reads: 'all' }],
  ['$mul', { reads: 'all' }],
  ['$min', { reads: 'all' }],
  ['$max', { reads: 'all' }],
  ['$bit', { reads: 'all' }],
])
