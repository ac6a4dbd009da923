import type { Binary, BSONRegExp, Document, Timestamp } from 'bson'
import { TYPE_ORDER, typeOrderOf } from './bson-type.ts'
import { compareNumbers, numberKey } from './numbers.ts'

/** Returns below, at or above zero: MongoDB's total order over BSON values. */
export function compareValues(a: unknown, b: unknown, collation?: Collation): number {
  const order = typeOrderOf(a)
  return order - typeOrderOf(b) || (COMPARERS[order]?.(a, b, collation) ?? 0)
}

/** Returns whether two values are equal: same type class, same value, same order of fields. */
export function isEqual(a: unknown, b: unknown, collation?: Collation): boolean {
  if (a === b) return true
  if (typeof a === 'string' && typeof b === 'string' && collation === undefined) return false
  return compareValues(a, b, collation) === 0
}

/** Returns a string that is the same for equal values and for no others. */
export function keyOf(value: unknown, collation?: Collation): string {
  const order = typeOrderOf(value)
  return `${order}:${KEYS[order]?.(value, collation) ?? ''}`
}

/** Returns the keys of values, one for all that are equal. */
export function keysOf(values: readonly unknown[], collation?: Collation): Set<string> {
  return new Set(values.map((value) => keyOf(value, collation)))
}

/** Returns values by their keys, without duplicates: the first of equal values is kept. */
export function valuesByKey(
  values: readonly unknown[],
  collation?: Collation,
): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const value of values) {
    const key = keyOf(value, collation)
    if (!found.has(key)) found.set(key, value)
  }
  return found
}

type Compare = (a: unknown, b: unknown, collation?: Collation) => number
type Key = (value: unknown, collation?: Collation) => string

/** The tables below are looked up by type, so each function may name the type it is given. */
const comparing = <T>(compare: (a: T, b: T, collation?: Collation) => number): Compare =>
  compare as Compare
const keyed = <T>(key: (value: T, collation?: Collation) => string): Key => key as Key

/** Compares strings by code points, which is the order of their UTF-8 bytes. Returns a number below, at or above 0. */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at += 1) {
    const [unit, other] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (unit !== other) return toPlace(unit) - toPlace(other)
  }
  return a.length - b.length
}

/** Returns the place of a UTF-16 unit. Surrogates encode code points that come after all others. */
function toPlace(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit
}

const COMPARERS: Readonly<Record<number, Compare>> = {
  [TYPE_ORDER.number]: compareNumbers,
  [TYPE_ORDER.string]: (a, b, collation) =>
    collation === undefined
      ? compareStrings(String(a), String(b))
      : collation.compare(String(a), String(b)),
  [TYPE_ORDER.object]: comparing(compareDocuments),
  [TYPE_ORDER.array]: comparing(compareArrays),
  [TYPE_ORDER.binData]: comparing<Binary>(
    (a, b) =>
      a.length() - b.length() || a.sub_type - b.sub_type || Buffer.compare(a.value(), b.value()),
  ),
  [TYPE_ORDER.objectId]: (a, b) => compareStrings(String(a), String(b)),
  [TYPE_ORDER.bool]: (a, b) => Number(a) - Number(b),
  // Dates beyond JavaScript's range have NaN as their time, but still need an order.
  [TYPE_ORDER.date]: comparing<Date>((a, b) => compareNumbers(a.getTime(), b.getTime())),
  [TYPE_ORDER.timestamp]: comparing<Timestamp>((a, b) => a.compare(b)),
  [TYPE_ORDER.regex]: (a, b) => compareStrings(regexKey(a), regexKey(b)),
  [TYPE_ORDER.javascript]: (a, b) => compareStrings(JSON.stringify(a), JSON.stringify(b)),
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
  [TYPE_ORDER.javascript]: (value) => JSON.stringify(value),
}

function compareDocuments(a: Document, b: Document, collation?: Collation): number {
  const left = Object.entries(a)
  const right = Object.entries(b)
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index]
    if (other === undefined) return 1
    const order =
      typeOrderOf(value) - typeOrderOf(other[1]) ||
      compareStrings(name, other[0]) ||
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
  // No pattern contains a zero byte, so a pattern sorts before those that start with it.
  if (value instanceof RegExp) return `${value.source}\0${value.flags}`
  const { pattern, options } = value as BSONRegExp
  return `${pattern}\0${options}`
}

/** How strings are compared under a collation. */
export interface Collation {
  /** The same for all collations that compare alike. */
  readonly name: string
  readonly compare: (a: string, b: string) => number
  /** Returns one and the same string for all strings that are equal under the collation. */
  readonly canonical: (value: string) => string
}

/** Returns whether a value counts as true in an expression. */
export function isTrue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && !isEqual(value, 0)
}
