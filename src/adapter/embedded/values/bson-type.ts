import type { Document } from 'bson'
import { Binary } from 'bson'
import { MAX_INT32 } from './numbers.ts'

/** MongoDB's order of the BSON types, lowest first. */
export const TYPE_ORDER = {
  minKey: 0,
  null: 1,
  number: 2,
  string: 3,
  object: 4,
  array: 5,
  binData: 6,
  objectId: 7,
  bool: 8,
  date: 9,
  timestamp: 10,
  regex: 11,
  code: 12,
  maxKey: 13,
} as const

const TAG_ORDER: Readonly<Record<string, number>> = {
  MinKey: TYPE_ORDER.minKey,
  MaxKey: TYPE_ORDER.maxKey,
  Long: TYPE_ORDER.number,
  Int32: TYPE_ORDER.number,
  Double: TYPE_ORDER.number,
  Decimal128: TYPE_ORDER.number,
  BSONSymbol: TYPE_ORDER.string,
  Binary: TYPE_ORDER.binData,
  ObjectId: TYPE_ORDER.objectId,
  Timestamp: TYPE_ORDER.timestamp,
  BSONRegExp: TYPE_ORDER.regex,
}

const TYPEOF_ORDER: Readonly<Record<string, number>> = {
  string: TYPE_ORDER.string,
  number: TYPE_ORDER.number,
  bigint: TYPE_ORDER.number,
  boolean: TYPE_ORDER.bool,
}

/** Returns where a value's type stands in MongoDB's order; a missing value counts as null. */
export function typeOrderOf(value: unknown): number {
  if (typeof value !== 'object') return TYPEOF_ORDER[typeof value] ?? TYPE_ORDER.null
  if (value === null) return TYPE_ORDER.null
  if (Array.isArray(value)) return TYPE_ORDER.array
  if (value instanceof Date) return TYPE_ORDER.date
  if (value instanceof RegExp) return TYPE_ORDER.regex
  const tag = bsonTagOf(value)
  return tag === undefined ? TYPE_ORDER.object : (TAG_ORDER[tag] ?? TYPE_ORDER.code)
}

/**
 * Returns the name of a value's BSON class. Instances inherit it; a decoded document may have a
 * field of the same name, which does not count.
 */
export function bsonTagOf(value: object): string | undefined {
  if (Object.hasOwn(value, '_bsontype')) return undefined
  return (value as { readonly _bsontype?: string })._bsontype
}

/** Returns whether a value is a (sub)document: no array, no date, no other BSON type. */
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
