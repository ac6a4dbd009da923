import type { Document } from 'bson'
import { deserialize } from 'bson'

/** How values are decoded to be compared: each keeps the type that it has in the database. */
const COMPARED = { bsonRegExp: true, promoteBuffers: false } as const

/** Returns a document of BSON with values that filters compare. */
export function decodeCompared(bytes: Uint8Array): Document {
  return deserialize(bytes, COMPARED)
}
