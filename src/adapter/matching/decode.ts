import type { Document } from 'bson'
import { deserialize } from 'bson'

/**
 * How BSON becomes the values that are kept and compared: each has the type that it has in the
 * database. Regular expressions stay data (BSONRegExp): only code with a time limit may compile them.
 */
const STORED_VALUES = { bsonRegExp: true, promoteBuffers: false } as const

/** Returns a document of BSON with the values that are kept and compared. */
export function decodeStored(bytes: Uint8Array): Document {
  return deserialize(bytes, STORED_VALUES)
}
