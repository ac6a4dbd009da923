import type { Document } from 'bson'
import { calculateObjectSize, deserialize } from 'bson'

/**
 * How BSON becomes the values that are kept and compared: each has the type that it has in the
 * database. Regular expressions stay data (BSONRegExp): only code with a time limit may compile them.
 */
const STORED_VALUES = { bsonRegExp: true, promoteBuffers: false } as const

/** Returns a document of BSON with the values that are kept and compared. */
export function decodeStored(bytes: Uint8Array): Document {
  return deserialize(bytes, STORED_VALUES)
}

/** Returns about how many bytes of BSON a value of a decoded document has. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? calculateObjectSize({ value }) : 8
}
