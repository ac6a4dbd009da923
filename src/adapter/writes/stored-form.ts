import type { BSONSerializeOptions, Document } from 'mongodb'
import { BSON, Decimal128, ObjectId } from 'mongodb'
import type { AdapterCall } from '../adapter-call.ts'
import { createWriteOptions } from '../mongodb-params.ts'
import { checkLong } from './data-check.ts'

/** Deeper values go through BSON, which detects circular ones. */
const MAX_DEPTH = 200

/** The largest record that MongoDB stores, in bytes. */
const MAX_BYTES = 16_777_216

/**
 * Returns a new document as the driver will read it back: without values that are not stored, and with the
 * others in their stored form. Returns the document itself if it would be read unchanged, as nearly all data
 * from JSON is.
 * @throws {BadRequest} a bigint has more than 64 bits
 * @throws {Error} the document has no BSON
 */
export function toStoredForm({ collection, driver }: AdapterCall, document: Document): Document {
  const { promoteValues = collection.bsonOptions.promoteValues } = driver
  if (promoteValues !== false && isStoredForm(document, 0)) return document
  const options: BSONSerializeOptions = { ...collection.bsonOptions, ...createWriteOptions(driver) }
  const bytes = BSON.serialize(document, options)
  // Circular values have no BSON: the check would not end.
  checkLongs(document)
  // The driver rejects a larger record. BSON may have truncated it to the size of its buffer.
  return bytes.length > MAX_BYTES ? document : BSON.deserialize(bytes, options)
}

/** Whether the driver reads a value back unchanged. */
function isStoredForm(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object') return typeof value === 'number' || typeof value === 'boolean'
  if (value === null) return true
  if (depth > MAX_DEPTH) return false
  if (Array.isArray(value)) {
    // `every()` would skip the holes of a list.
    for (const item of value) if (!isStoredForm(item, depth + 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype) {
    for (const name of Object.keys(value)) {
      if (!name.isWellFormed()) return false
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
