import { Binary } from 'bson'
import { bsonTagOf } from './bson-type.ts'
import { MAX_INT32 } from './numbers.ts'

const NAMES_BY_TAG: Readonly<Record<string, string>> = {
  Binary: 'binData',
  BSONRegExp: 'regex',
  BSONSymbol: 'symbol',
  Code: 'javascript',
  Decimal128: 'decimal',
  Long: 'long',
  MaxKey: 'maxKey',
  MinKey: 'minKey',
  ObjectId: 'objectId',
  Timestamp: 'timestamp',
}

/** Returns the name MongoDB gives to a value's type; whole numbers of 32 bits are `int`. */
export function typeNameOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (typeof value === 'number') {
    return Number.isInteger(value) && Math.abs(value) <= MAX_INT32 ? 'int' : 'double'
  }
  if (typeof value === 'boolean') return 'bool'
  if (typeof value !== 'object') return typeof value
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'date'
  if (value instanceof RegExp) return 'regex'
  return NAMES_BY_TAG[bsonTagOf(value) ?? ''] ?? (value instanceof Binary ? 'binData' : 'object')
}
