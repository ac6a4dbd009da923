import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'

import { BadRequest } from '../../core/errors/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { toObjectId } from '../object-id.ts'
import type { WriteData } from './write-data.ts'
import { checkRecord } from './write-data.ts'

/**
 * Returns a new document to insert. A string of 24 hexadecimal digits in `_id` becomes an ObjectId,
 * or `get` would not find the record; an `id` field of another name gets such a string when it is
 * missing. Without `_id` the driver adds one.
 */
export function toNewDocument(data: WriteData, settings: MongoDBSettings): Document {
  const { id, disableObjectify } = settings
  const { _id, ...fields } = data
  const generated =
    id !== '_id' && data[id] === undefined ? new ObjectId().toHexString() : undefined
  return {
    ...(_id === undefined ? {} : { _id: disableObjectify ? _id : toObjectId(_id) }),
    ...fields,
    ...(generated === undefined ? {} : { [id]: generated }),
  }
}

/** Returns the document that replaces a record: its `_id` stays, another id field is set again. */
export function toReplacement(data: WriteData, idField: string, id: unknown): Document {
  const { _id, ...fields } = data
  return idField === '_id' ? fields : { ...fields, [idField]: id }
}

/** Returns whether data holds update operators. */
export function hasOperators(data: WriteData): boolean {
  return Object.keys(data).some(isOperator)
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
 * never changes.
 * @throws {BadRequest} `$set` is no object
 */
export function toUpdateDocument(data: WriteData, idField: string): Document {
  const { $set = {}, ...operators } = Object.fromEntries(
    Object.entries(data).filter(([name]) => isOperator(name)),
  )
  if (!isPlainObject($set)) throw new BadRequest('$set must be an object')
  const fields = Object.entries(data).filter(([name]) => !isOperator(name))
  const set = [...fields, ...Object.entries($set)].filter(
    ([name, value]) => name !== '_id' && name !== idField && value !== undefined,
  )
  // A patch without any change is still one command that finds the record, or does not.
  if (set.length === 0 && Object.keys(operators).length > 0) return operators
  return { ...operators, $set: Object.fromEntries(set) }
}

function isOperator(name: string): boolean {
  return name.startsWith('$')
}
