import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import { BadRequest } from '../../core/errors/index.ts'
import { isObject, isPlainObject, isPromise } from '../../core/value-kind.ts'
import { isVersion } from '../../core/versions/entity-tag.ts'
import { isReservedName, relate } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { checkId, isSameId, toObjectId } from '../object-id.ts'
import { checkHiddenConditions } from '../queries/hidden-field-check.ts'
import { COMPARING } from '../queries/query-operators.ts'

/** The data of one record, or update operators. */
export type WriteData = Readonly<Record<string, unknown>>

/**
 * Checks that data is one record.
 * @throws {BadRequest} an array, `null` or no object
 * @throws {TypeError} a promise, of a list or set by a hook
 */
export function checkRecord(data: unknown): asserts data is WriteData {
  if (isPromise(data)) throw new TypeError('The data is a promise: await it first')
  if (isObject(data) && !Array.isArray(data)) return
  throw new BadRequest('The data must be an object')
}

/**
 * Returns the records of `create`, one or many, as a list.
 * @throws {BadRequest} one of them is no object
 */
export function listRecords(data: unknown): WriteData[] {
  return (Array.isArray(data) ? data : [data]).map((record: unknown) => {
    checkRecord(record)
    return record
  })
}

/**
 * Checks data that a caller outside sent for new records, one or a list: fields only, and no id,
 * unless the option `allowClientId` lets callers choose a usable one.
 * @throws {BadRequest} more records than `limits.records`, operators, dotted names, numbers that JSON
 *   can't hold, an id
 */
export function checkNewRecords(data: unknown, settings: MongoDBSettings): void {
  const limit = settings.limits.records
  // Not `length > limit`: that is false for a limit of `undefined` or `NaN`.
  if (Array.isArray(data) && !(data.length <= limit)) {
    throw new BadRequest(`The data has more than ${limit} records`)
  }
  for (const record of listRecords(data)) {
    checkValue(record)
    const { version } = settings
    if (version !== undefined && record[version] !== undefined) throw createFieldError(version)
    for (const name of ['_id', settings.id]) {
      if (record[name] === undefined) continue
      if (!settings.allowClientId) throw createFieldError(name)
      checkId(record[name])
    }
  }
}

/** Returns the error for a field that a caller outside may not choose. */
export function createFieldError(name: string): BadRequest {
  return new BadRequest(`The field '${name}' is set by the server`)
}

/**
 * Checks data that a caller outside sent for `update` or `patch`: operators and dotted names only
 * as the option `updateOperators` lists them, and no other id than the record's.
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
    throw new BadRequest(`The field '${settings.id}' of a record can not be changed`)
  }
}

/** The version of new records. A record from before the option was set has none, which counts as 0. */
const FIRST_VERSION = 1

/** The deepest record that the server stores; it bounds the recursion here as well. */
const MAX_DEPTH = 100

/** What the server nests at most, updates included. */
const MAX_NESTING = 200

/** No names beyond those of fields. */
const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Checks a value that a caller outside sent to be stored.
 * @param allowed names that are otherwise refused, for the keys of the value itself
 * @param allowedBelow the same for the keys of what is inside it
 * @throws {BadRequest} operators, dotted names, numbers that JSON can't hold, too many levels
 */
function checkValue(
  value: unknown,
  depth = 0,
  allowed: ReadonlySet<string> = NO_NAMES,
  allowedBelow: ReadonlySet<string> = NO_NAMES,
): void {
  if (depth > MAX_DEPTH) refuseDepth(MAX_DEPTH)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new BadRequest('The data has a number that is not finite')
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

/** @throws {BadRequest} a bigint has more bits than are stored */
export function checkLong(value: bigint): void {
  if (BigInt.asIntN(64, value) === value) return
  throw new BadRequest('The data has a bigint of more than 64 bits')
}

/**
 * @throws {BadRequest} an operator, a dotted path, or a name that JavaScript or BSON gives
 *   a meaning
 */
function checkName(name: string): void {
  if (name.includes('.') || name.startsWith('$') || isReservedName(name)) refuseName(name)
}

/**
 * Checks a value that a caller inside stores: what came as JSON at some time holds no imitation of an
 * ObjectId.
 * @throws {BadRequest} a name that JavaScript or BSON gives a meaning
 */
export function checkReservedNames(value: unknown, depth = 0): void {
  // A record that holds itself has no end.
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
  throw new BadRequest(`The data is nested more than ${most} levels deep`)
}

function refuseName(name: string): never {
  throw new BadRequest(`The data has the field name '${name}', which is not allowed`)
}

/**
 * Checks an update operator that a caller outside sent.
 * @throws {BadRequest} the option `updateOperators` does not list the operator or a dotted path in
 *   it, the id would change, or the operator has to do with a hidden field
 */
function checkUpdateOperator(name: string, fields: unknown, settings: MongoDBSettings): void {
  const operator = UPDATE_OPERATORS.get(name)
  if (operator === undefined || !settings.updateOperators.includes(name)) {
    throw new BadRequest(`The operator ${name} is not allowed`)
  }
  if (!isPlainObject(fields)) throw new BadRequest(`The operator ${name} takes an object of fields`)
  const { modifiers = NO_NAMES, reads } = operator
  for (const [path, value] of Object.entries(fields)) {
    checkPath(name, path, settings)
    if (operator.takesPath) checkTarget(name, value, settings)
    else checkValue(value, 1, modifiers, reads === 'conditions' ? modifiers : NO_NAMES)
    checkHidden(name, reads, path, value, settings.hidden)
  }
}

/** `{ $rename: { from: 'to' } }` writes the field `to`, which is a path like any other. */
function checkTarget(name: string, target: unknown, settings: MongoDBSettings): void {
  if (typeof target !== 'string' || target === '') {
    throw new BadRequest(`The operator ${name} takes the names of fields`)
  }
  checkPath(name, target, settings)
  if (relate(target, settings.hidden) !== 'apart') refuseHidden(name, target)
}

function checkPath(name: string, path: string, settings: MongoDBSettings): void {
  if (['_id', settings.id].some((id) => path === id || path.startsWith(`${id}.`))) {
    throw new BadRequest(`The operator ${name} must not change the id`)
  }
  if (!settings.updateOperators.includes(path)) checkName(path)
}

/**
 * A hidden field can be written by its plain name, `{ password }`, but by no operator: what the
 * operator makes of the field could reveal its value.
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
  // A list that is put in order by its items tells which one was the greater.
  const isSorted = isPlainObject(value) && Object.hasOwn(value, '$sort')
  if (relation === 'inside' || reads === 'all' || isSorted) refuseHidden(name, path)
  if (reads === 'conditions') checkHiddenConditions(value, path, hidden)
}

function refuseHidden(name: string, path: string): never {
  throw new BadRequest(`The field '${path}' can not be changed by ${name}`)
}

/** What an update operator takes for a field, and how callers outside may use it. */
interface UpdateOperator {
  /**
   * Keys that say how and not what, `{ $push: { tags: { $each: […] } } }`; in conditions at any depth.
   */
  readonly modifiers?: ReadonlySet<string>
  /** Whether the value is the path of another field. */
  readonly takesPath?: true
  /**
   * What it reads of the field, and so may reveal of a hidden field in it: `conditions` read the
   * fields that they name, `all` is compared or moved as a whole.
   */
  readonly reads: 'nothing' | 'conditions' | 'all'
}

/** Operators by name; what any other one would do with a field is not known. */
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

/**
 * Returns a new document to insert. A string of 24 hexadecimal digits in `_id` becomes an ObjectId,
 * or `get` would not find the record; an `id` field of another name gets such a string when it is
 * missing. Without `_id` the driver adds one. A version that the data has stays: that of a copy.
 */
export function createDocument(data: WriteData, settings: MongoDBSettings): Document {
  const { id, disableObjectify, version } = settings
  const { _id, ...fields } = data
  const isGenerated = id !== '_id' && data[id] === undefined
  return {
    ...(_id === undefined ? {} : { _id: disableObjectify ? _id : toObjectId(_id) }),
    ...fields,
    ...(isGenerated ? { [id]: new ObjectId().toHexString() } : {}),
    ...(version === undefined ? {} : { [version]: readNewVersion(data, version) }),
  }
}

/** @throws {BadRequest} the data has something else in the field of the version */
function readNewVersion(data: WriteData, field: string): number {
  const { [field]: version = FIRST_VERSION } = data
  if (isVersion(version)) return version
  throw new BadRequest(`The field '${field}' must be a whole number from 0 on`)
}

/** Returns the document that replaces a record: its `_id` stays, another id field is set again. */
export function createReplacement(data: WriteData, idField: string, id: unknown): Document {
  const { _id, ...fields } = data
  return idField === '_id' ? fields : { ...fields, [idField]: id }
}

/** Returns whether data holds update operators. */
export function hasOperators(data: WriteData): boolean {
  return Object.keys(data).some(isOperator)
}

/** Returns the paths that data writes to, by operators as well. */
export function listWrittenPaths(data: WriteData): string[] {
  if (!hasOperators(data)) return Object.keys(data)
  return Object.entries(data).flatMap(([name, value]) => {
    if (!name.startsWith('$') || !isObject(value)) return [name]
    const targets = name === '$rename' ? Object.values(value).map(String) : []
    return [...Object.keys(value), ...targets]
  })
}

/** Whether data has a field, or changes it by an operator or a path. */
export function namesField(data: WriteData, field: string): boolean {
  return listWrittenPaths(data).some((path) => relate(path, [field]) === 'inside')
}

/**
 * Returns the value of a field that the server sets, and the data without it.
 * @throws {BadRequest} an operator or a path of the data has to do with the field
 */
export function takeField(data: WriteData, field: string): { value: unknown; others: WriteData } {
  const { [field]: value, ...others } = data
  if (namesField(others, field)) throw createFieldError(field)
  return { value, others }
}

/**
 * Checks data that `update` gets: a record or update operators, not both.
 * @throws {BadRequest} operators beside fields, or no object
 */
export function checkUnmixed(data: unknown): asserts data is WriteData {
  checkRecord(data)
  if (hasOperators(data) && !Object.keys(data).every(isOperator)) {
    throw new BadRequest('The data of an update is either fields or operators, not both')
  }
}

/**
 * Returns the update for `patch`: fields go into `$set`, operators stay. The id is left out, as it
 * never changes; the version is raised.
 * @throws {BadRequest} `$set` is no object
 */
export function createUpdate(
  data: WriteData,
  settings: Pick<MongoDBSettings, 'id' | 'version'>,
): Document {
  const { $set = {}, ...operators } = Object.fromEntries(
    Object.entries(data).filter(([name]) => isOperator(name)),
  )
  if (!isPlainObject($set)) throw new BadRequest('$set must be an object')
  const { id } = settings
  const fields = Object.entries(data).filter(([name]) => !isOperator(name))
  const set = [...fields, ...Object.entries($set)].filter(
    ([name, value]) => name !== '_id' && name !== id && value !== undefined,
  )
  // A patch without any change is still one command that finds the record, or does not.
  const isOnlyOperators = set.length === 0 && Object.keys(operators).length > 0
  return withRaisedVersion(
    isOnlyOperators ? operators : { ...operators, $set: Object.fromEntries(set) },
    settings,
  )
}

/** Returns update operators that raise the version of the record as well. */
function withRaisedVersion(
  update: Document,
  { version: field }: Pick<MongoDBSettings, 'version'>,
): Document {
  if (field === undefined) return update
  return { ...update, $inc: { ...update['$inc'], [field]: 1 } }
}

function isOperator(name: string): boolean {
  return name.startsWith('$')
}
