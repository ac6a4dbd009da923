import type { Document } from 'bson'
import { CommandError } from './command-error.ts'

/** Returns MongoDB's E11000 error, with the index's key pattern and the values that are taken. */
export function duplicateKey(
  namespace: string,
  indexName: string,
  keyPattern: Document,
  keyValue: Document,
): CommandError {
  const values = Object.entries(keyValue)
    .map(([field, value]) => `${field}: ${describe(value)}`)
    .join(', ')
  const message = `E11000 duplicate key error collection: ${namespace} index: ${indexName} dup key: { ${values} }`
  return new CommandError(11000, message, { keyPattern, keyValue })
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Date) return `new Date(${value.getTime()})`
  if (value === null || typeof value !== 'object') return String(value)
  const tag = (value as { _bsontype?: unknown })._bsontype
  if (tag === 'ObjectId') return `ObjectId('${String(value)}')`
  return tag === undefined ? JSON.stringify(value) : String(value)
}
