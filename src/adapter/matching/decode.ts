import type { Document } from 'bson'
import { calculateObjectSize, deserialize } from 'bson'

/**
 * How BSON is decoded for storage and comparison: each value keeps its database type. Regular expressions
 * stay data (BSONRegExp): only code with a time limit may compile them.
 */
const STORED_VALUES = { bsonRegExp: true, promoteBuffers: false } as const

/** Returns a BSON document decoded for storage and comparison. */
export function decodeStored(bytes: Uint8Array): Document {
  return deserialize(bytes, STORED_VALUES)
}

/** Returns the approximate BSON size of a decoded value, in bytes. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? calculateObjectSize({ value }) : 8
}
