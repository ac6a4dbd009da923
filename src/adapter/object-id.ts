import { BSON, ObjectId } from 'mongodb'

import { BadRequest } from '../core/errors/index.ts'
import type { Id } from '../core/params.ts'
import { isObject } from '../core/value-kind.ts'

/** What addresses one record of a MongoDB service. */
export type AdapterId = Id | ObjectId

/** The id of a record, or `null` for many of them: what `patch` and `remove` take. */
export type NullableAdapterId = AdapterId | null

const HEX_24 = /^[0-9a-f]{24}$/i

/**
 * Returns whether a value is an ObjectId, also one of another copy of the driver. An object literal
 * with a key `_bsontype`, as JSON can carry it, is none.
 */
export function isObjectId(value: unknown): value is ObjectId {
  return (
    isObject(value) &&
    !Object.hasOwn(value, '_bsontype') &&
    value['_bsontype'] === 'ObjectId' &&
    typeof value['toHexString'] === 'function'
  )
}

/**
 * Returns the ObjectId that a string of 24 hexadecimal digits or a foreign ObjectId stands for, and
 * any other value as it is: numbers and other strings are ids as well.
 */
export function toObjectId(value: unknown): unknown {
  if (typeof value === 'string') return HEX_24.test(value) ? new ObjectId(value) : value
  if (value instanceof ObjectId || !isObjectId(value)) return value
  return new ObjectId(value.toHexString())
}

/**
 * Returns an id as it is stored: an ObjectId for 24 hexadecimal digits, where `_id` is the id and the
 * option `disableObjectify` is off, and any other id as it is.
 */
export function toStoredId(
  id: AdapterId,
  settings: { readonly id: string; readonly disableObjectify: boolean },
): AdapterId {
  const isObjectified = settings.id === '_id' && !settings.disableObjectify
  return isObjectified ? (toObjectId(id) as AdapterId) : id
}

/**
 * Checks the id argument of a method.
 * @throws {BadRequest} neither a string, nor a number, nor an ObjectId
 */
export function checkId(id: unknown): asserts id is AdapterId {
  if (typeof id === 'string' || typeof id === 'number' || isObjectId(id)) return
  throw new BadRequest(`Invalid id '${typeof id === 'bigint' ? String(id) : JSON.stringify(id)}'`)
}

/** Returns whether two ids address the same record: `'507F…'` and its ObjectId do. */
export function isSameId(one: unknown, other: unknown): boolean {
  return String(toObjectId(one)) === String(toObjectId(other))
}

/**
 * Returns a string for an `_id`, by which records are told apart: `1` and `'1'` have different ones,
 * an id that was written and the same one as it is read have the same.
 */
export function toIdKey(id: unknown): string {
  if (isObjectId(id)) return id.toHexString()
  if (typeof id === 'string') return JSON.stringify(id)
  // The driver reads a small `Long` or `bigint` as a number, and a `Buffer` as a `Binary`.
  const read = BSON.deserialize(BSON.serialize({ id }))
  return BSON.EJSON.stringify(read, { relaxed: false })
}
