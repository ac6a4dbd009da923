import type { BSONSerializeOptions, Document } from 'mongodb'
import { BSON, Decimal128, ObjectId } from 'mongodb'
import type { AdapterCall } from '../adapter-call.ts'
import { createWriteOptions } from '../mongodb-params.ts'
import { checkLong } from './write-data.ts'

/** Deeper values are left to BSON, which finds a value that holds itself. */
const MAX_DEPTH = 200

/**
 * Returns a new document as the driver reads it after the write: without what is not stored, and with what
 * other values become. Returns the document itself if nothing of it changes, as in all data from JSON.
 * @throws {BadRequest} a bigint has more than 64 bits
 * @throws {Error} the document has no BSON
 */
export function toStoredForm({ collection, driver }: AdapterCall, document: Document): Document {
  const { promoteValues = collection.bsonOptions.promoteValues } = driver
  if (promoteValues !== false && isStoredForm(document, 0)) return document
  const options: BSONSerializeOptions = { ...collection.bsonOptions, ...createWriteOptions(driver) }
  const stored = BSON.deserialize(BSON.serialize(document, options), options)
  checkLongs(document)
  return stored
}

/** Whether the driver reads a value as it was written. */
function isStoredForm(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object') return typeof value === 'number' || typeof value === 'boolean'
  if (value === null) return true
  if (depth > MAX_DEPTH) return false
  if (Array.isArray(value)) {
    // Not `every()`, which passes over what a list does not have.
    for (const item of value) if (!isStoredForm(item, depth + 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype) {
    for (const name of Object.keys(value)) {
      if (!isStoredForm((value as Document)[name], depth + 1)) return false
    }
    return true
  }
  if (prototype === Date.prototype) return !Number.isNaN((value as Date).getTime())
  return prototype === ObjectId.prototype || prototype === Decimal128.prototype
}

/** @throws {BadRequest} BSON would take the lower 64 bits of a bigint that has more */
function checkLongs(value: unknown): void {
  if (typeof value === 'bigint') checkLong(value)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  const inner = value instanceof Map ? value.values() : Object.values(value)
  for (const one of inner) checkLongs(one)
}
