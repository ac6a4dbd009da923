import type { Document } from 'bson'
import { Binary } from 'bson'

/** MongoDB's order of the BSON types, lowest first, by their names in `$type`. */
export const TYPE_ORDER = {
  minKey: 0,
  emptyArray: 1,
  null: 2,
  number: 3,
  string: 4,
  object: 5,
  array: 6,
  binData: 7,
  objectId: 8,
  bool: 9,
  date: 10,
  timestamp: 11,
  regex: 12,
  javascript: 13,
  maxKey: 14,
} as const

/** The order and type name of each BSON class, by its tag. */
const CLASSES: Readonly<Record<string, { readonly order: number; readonly name?: string }>> = {
  MinKey: { order: TYPE_ORDER.minKey, name: 'minKey' },
  MaxKey: { order: TYPE_ORDER.maxKey, name: 'maxKey' },
  Long: { order: TYPE_ORDER.number, name: 'long' },
  Int32: { order: TYPE_ORDER.number },
  Double: { order: TYPE_ORDER.number },
  Decimal128: { order: TYPE_ORDER.number, name: 'decimal' },
  BSONSymbol: { order: TYPE_ORDER.string, name: 'symbol' },
  Binary: { order: TYPE_ORDER.binData, name: 'binData' },
  Code: { order: TYPE_ORDER.javascript, name: 'javascript' },
  ObjectId: { order: TYPE_ORDER.objectId, name: 'objectId' },
  Timestamp: { order: TYPE_ORDER.timestamp, name: 'timestamp' },
  BSONRegExp: { order: TYPE_ORDER.regex, name: 'regex' },
}

/** An empty array as an index and a sort see it: it sorts before null. */
export const EMPTY_ARRAY: unique symbol = Symbol('empty array')

const TYPEOF_ORDER: Readonly<Record<string, number>> = {
  symbol: TYPE_ORDER.emptyArray,
  string: TYPE_ORDER.string,
  number: TYPE_ORDER.number,
  bigint: TYPE_ORDER.number,
  boolean: TYPE_ORDER.bool,
}

/** Returns the place of a value's type in MongoDB's sort order; a missing value counts as null. */
export function typeOrderOf(value: unknown): number {
  if (typeof value !== 'object') return TYPEOF_ORDER[typeof value] ?? TYPE_ORDER.null
  if (value === null) return TYPE_ORDER.null
  if (Array.isArray(value)) return TYPE_ORDER.array
  if (value instanceof Date) return TYPE_ORDER.date
  if (value instanceof RegExp) return TYPE_ORDER.regex
  const tag = bsonTagOf(value)
  return tag === undefined ? TYPE_ORDER.object : (CLASSES[tag]?.order ?? TYPE_ORDER.javascript)
}

/**
 * Returns the name of a value's BSON class. Only an inherited tag counts: a decoded document may have an own
 * field of the same name.
 */
export function bsonTagOf(value: object): string | undefined {
  if (Object.hasOwn(value, '_bsontype')) return undefined
  return (value as { readonly _bsontype?: string })._bsontype
}

/** Returns whether a value is a document or subdocument, not an array, a date or another BSON type. */
export function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && typeOrderOf(value) === TYPE_ORDER.object
}

/** Returns whether a value is of any of BSON's number types. */
export function isNumeric(value: unknown): boolean {
  return typeOrderOf(value) === TYPE_ORDER.number
}

/** Returns whether a value is null or missing. */
export function isNullish(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

/** Returns the name MongoDB gives to a value's type; whole numbers of 32 bits are `int`. */
export function typeNameOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (typeof value === 'number') return Object.is(value, value | 0) ? 'int' : 'double'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value !== 'object') return typeof value
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'date'
  if (value instanceof RegExp) return 'regex'
  return CLASSES[bsonTagOf(value) ?? '']?.name ?? (value instanceof Binary ? 'binData' : 'object')
}
