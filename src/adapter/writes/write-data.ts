import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import { FieldNotWritable, InvalidData } from '../../core/errors/coded-errors.ts'
import type { BadRequest } from '../../core/errors/index.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import { isObject, isPlainObject, isPromise } from '../../core/value-kind.ts'
import { relate } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { toObjectId } from '../object-id.ts'

/** The data of one record, or update operators. */
export type WriteData = Readonly<Record<string, unknown>>

/**
 * Checks that data is one record.
 * @throws {BadRequest} an array, `null`, or not an object
 * @throws {TypeError} a promise, of a list or set by a hook
 */
export function checkRecord(data: unknown): asserts data is WriteData {
  if (isPromise(data)) throw new ArgumentError('The data is a promise: await it first')
  if (isObject(data) && !Array.isArray(data)) return
  throw new InvalidData('The data must be an object')
}

/**
 * Returns the records of `create`, one or many, as a list.
 * @throws {BadRequest} one of them is not an object
 */
export function listRecords(data: unknown): WriteData[] {
  return (Array.isArray(data) ? data : [data]).map((record: unknown) => {
    checkRecord(record)
    return record
  })
}

/** Returns the error for a field that external callers may not set. */
export function createFieldError(name: string): BadRequest {
  return new FieldNotWritable(`The field '${name}' is set by the server`)
}

/**
 * Returns a new document to insert. A string of 24 hexadecimal digits in `_id` becomes an ObjectId,
 * or `get` would not find the record; an `id` field of another name gets such a string when it is
 * missing. Without `_id` the driver adds one.
 */
export function createDocument(data: WriteData, settings: MongoDBSettings): Document {
  const { id, disableObjectify } = settings
  const { _id, ...fields } = data
  const isGenerated = id !== '_id' && data[id] === undefined
  return {
    ...(_id === undefined ? {} : { _id: disableObjectify ? _id : toObjectId(_id) }),
    ...fields,
    ...(isGenerated ? { [id]: new ObjectId().toHexString() } : {}),
  }
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

/** Returns the paths that data writes to, including those in operators. */
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
 * @throws {BadRequest} an operator or a path of the data involves the field
 */
export function takeField(data: WriteData, field: string): { value: unknown; others: WriteData } {
  const { [field]: value, ...others } = data
  if (namesField(others, field)) throw createFieldError(field)
  return { value, others }
}

/**
 * Checks data that `update` gets: a record or update operators, not both.
 * @throws {BadRequest} operators are mixed with fields, or the data is not an object
 */
export function checkUnmixed(data: unknown): asserts data is WriteData {
  checkRecord(data)
  if (hasOperators(data) && !Object.keys(data).every(isOperator)) {
    throw new InvalidData('The data of an update is either fields or operators, not both')
  }
}

/**
 * Returns the update for `patch`: fields go into `$set`, operators stay. The id is left out, as it
 * never changes.
 * @throws {BadRequest} `$set` is not an object
 */
export function createUpdate(data: WriteData, { id }: Pick<MongoDBSettings, 'id'>): Document {
  const operators: [string, unknown][] = []
  const fields: [string, unknown][] = []
  for (const entry of Object.entries(data)) {
    if (entry[0].startsWith('$')) operators.push(entry)
    else fields.push(entry)
  }
  const { $set = {}, ...others } = Object.fromEntries(operators)
  if (!isPlainObject($set)) throw new InvalidData('$set must be an object')
  const set: [string, unknown][] = []
  for (const entry of [...fields, ...Object.entries($set)]) {
    const [name, value] = entry
    if (name !== '_id' && name !== id && value !== undefined) set.push(entry)
  }
  // A patch without changes still sends a command, which may find no record.
  const isOnlyOperators = set.length === 0 && Object.keys(others).length > 0
  return isOnlyOperators ? others : { ...others, $set: Object.fromEntries(set) }
}

function isOperator(name: string): boolean {
  return name.startsWith('$')
}
