import type { Binary, BSONRegExp, Document, Timestamp } from 'bson'
import type { Collation } from '../protocol/collation-option.ts'
import { compareNumbers, numberKey } from './numbers.ts'

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

/** Returns the name of a value's BSON class; only classes carry it, never decoded documents. */
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

/** Returns below, at or above zero: MongoDB's total order over BSON values. */
export function compareValues(a: unknown, b: unknown, collation?: Collation): number {
  const order = typeOrderOf(a)
  return order - typeOrderOf(b) || (COMPARERS[order]?.(a, b, collation) ?? 0)
}

/** Returns whether two values are equal: same type class, same value, same order of fields. */
export function isEqual(a: unknown, b: unknown, collation?: Collation): boolean {
  return a === b || compareValues(a, b, collation) === 0
}

/** Returns a string that is the same for equal values and for no others. */
export function keyOf(value: unknown, collation?: Collation): string {
  const order = typeOrderOf(value)
  return `${order}:${KEYS[order]?.(value, collation) ?? ''}`
}

type Compare = (a: unknown, b: unknown, collation?: Collation) => number
type Key = (value: unknown, collation?: Collation) => string

/** The tables below are looked up by type, so each function may name the type it is given. */
const comparing = <T>(compare: (a: T, b: T, collation?: Collation) => number): Compare =>
  compare as Compare
const keyed = <T>(key: (value: T, collation?: Collation) => string): Key => key as Key

const ascending = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0)

const COMPARERS: Readonly<Record<number, Compare>> = {
  [TYPE_ORDER.number]: compareNumbers,
  [TYPE_ORDER.string]: (a, b, collation) =>
    collation === undefined
      ? ascending(String(a), String(b))
      : collation.compare(String(a), String(b)),
  [TYPE_ORDER.object]: comparing(compareDocuments),
  [TYPE_ORDER.array]: comparing(compareArrays),
  [TYPE_ORDER.binData]: comparing<Binary>(
    (a, b) =>
      a.length() - b.length() || a.sub_type - b.sub_type || Buffer.compare(a.value(), b.value()),
  ),
  [TYPE_ORDER.objectId]: (a, b) => ascending(String(a), String(b)),
  [TYPE_ORDER.bool]: (a, b) => Number(a) - Number(b),
  [TYPE_ORDER.date]: comparing<Date>((a, b) => a.getTime() - b.getTime()),
  [TYPE_ORDER.timestamp]: comparing<Timestamp>((a, b) => a.compare(b)),
  [TYPE_ORDER.regex]: (a, b) => ascending(regexKey(a), regexKey(b)),
  [TYPE_ORDER.code]: (a, b) => ascending(JSON.stringify(a), JSON.stringify(b)),
}

const KEYS: Readonly<Record<number, Key>> = {
  [TYPE_ORDER.number]: numberKey,
  [TYPE_ORDER.string]: (value, collation) =>
    JSON.stringify(collation?.canonical(String(value)) ?? String(value)),
  [TYPE_ORDER.object]: keyed<Document>(
    (value, collation) =>
      `{${Object.entries(value)
        .map(([name, child]) => `${JSON.stringify(name)}${keyOf(child, collation)}`)
        .join()}}`,
  ),
  [TYPE_ORDER.array]: keyed<unknown[]>(
    (value, collation) => `[${value.map((item) => keyOf(item, collation)).join()}]`,
  ),
  [TYPE_ORDER.binData]: keyed<Binary>((value) => `${value.sub_type}.${value.toString('base64')}`),
  [TYPE_ORDER.objectId]: String,
  [TYPE_ORDER.bool]: String,
  [TYPE_ORDER.date]: keyed<Date>((value) => String(value.getTime())),
  [TYPE_ORDER.timestamp]: String,
  [TYPE_ORDER.regex]: (value) => JSON.stringify(regexKey(value)),
  [TYPE_ORDER.code]: (value) => JSON.stringify(value),
}

function compareDocuments(a: Document, b: Document, collation?: Collation): number {
  const left = Object.entries(a)
  const right = Object.entries(b)
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index]
    if (other === undefined) return 1
    const order =
      typeOrderOf(value) - typeOrderOf(other[1]) ||
      ascending(name, other[0]) ||
      compareValues(value, other[1], collation)
    if (order !== 0) return order
  }
  return left.length - right.length
}

function compareArrays(a: unknown[], b: unknown[], collation?: Collation): number {
  for (const [index, value] of a.entries()) {
    if (index >= b.length) return 1
    const order = compareValues(value, b[index], collation)
    if (order !== 0) return order
  }
  return a.length - b.length
}

function regexKey(value: unknown): string {
  if (value instanceof RegExp) return `${value.source}/${value.flags}`
  const { pattern, options } = value as BSONRegExp
  return `${pattern}/${options}`
}
