import type { Document } from 'bson'
import { EMPTY_ARRAY, isDocument } from './bson-type.ts'
import { CommandError } from './command-error.ts'

/** Returns a deep copy. Instances of BSON classes are shared, since no code changes them. */
export function clone<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(clone) as Value
  if (!isDocument(value)) return value
  const copy: Document = {}
  for (const name of Object.keys(value)) setField(copy, name, clone(value[name]))
  return copy as Value
}

/** Sets a field; one named `__proto__` becomes an own field and leaves the prototype alone. */
export function setField(target: Document, name: string, value: unknown): void {
  if (name !== '__proto__') {
    target[name] = value
    return
  }
  const field = { value, enumerable: true, configurable: true, writable: true }
  Object.defineProperty(target, name, field)
}

/** Returns a document's own field, `undefined` if there is none. */
export function getField(target: Document, name: string): unknown {
  return Object.hasOwn(target, name) ? target[name] : undefined
}

/** Returns whether a name is that of a single field: not empty, no path and no operator. */
export function isPlainName(name: string): boolean {
  return name !== '' && !name.startsWith('$') && !name.includes('.')
}

/** Returns whether a document's first field starts with `$`: then it consists of operators. */
export function startsWithOperator(document: Document): boolean {
  return Object.keys(document)[0]?.startsWith('$') === true
}

/** Returns whether one part of a dotted path can be an array's index. */
export function isIndex(part: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(part)
}

/**
 * Returns all values a filter's path reaches; `undefined` for a missing field. An array on the way is
 * searched in all its documents; an index in the path also selects one item. An array at the end is one
 * value: the filter's operators decide whether to look inside.
 */
export function valuesAt(source: unknown, parts: readonly string[], from = 0): unknown[] {
  const name = parts[from]
  if (name === undefined) return [source]
  if (isDocument(source)) {
    const value = getField(source, name)
    return from === parts.length - 1 ? [value] : valuesAt(value, parts, from + 1)
  }
  if (!Array.isArray(source)) return [undefined]
  const found: unknown[] = []
  for (const item of source) if (isDocument(item)) found.push(...valuesAt(item, parts, from))
  if (isIndex(name) && Number(name) < source.length) {
    found.push(...valuesAt(source[Number(name)], parts, from + 1))
  }
  return found
}

/**
 * Returns the values that an index on one field has, and that a sort chooses from: one for each item of an
 * array on the path. A nested array is one value; its fields do not count.
 * @throws {CommandError} 16746 a name in the path is both an index and a field of an item
 */
export function indexValuesAt(
  source: unknown,
  parts: readonly string[],
  from = 0,
  isItem = false,
): unknown[] {
  const name = parts[from]
  if (Array.isArray(source) && !isItem) {
    if (name === undefined || !isIndex(name)) {
      const items: readonly unknown[] = source.length === 0 ? [EMPTY_ARRAY] : source
      return items.flatMap((item) => indexValuesAt(item, parts, from, true))
    }
    if (source.some((item) => isDocument(item) && Object.hasOwn(item, name))) {
      throw new CommandError(16746, `Ambiguous field name found in array: '${name}'`)
    }
    return indexValuesAt(source[Number(name)], parts, from + 1, from + 1 === parts.length)
  }
  if (name === undefined) return [source]
  return isDocument(source) ? indexValuesAt(getField(source, name), parts, from + 1) : [undefined]
}

/** Returns the path of the first array on the way along another path, or at its end. */
export function arrayOn(source: unknown, parts: readonly string[]): string | undefined {
  let value = source
  for (const [at, part] of parts.entries()) {
    value = isDocument(value) ? getField(value, part) : undefined
    if (Array.isArray(value)) return parts.slice(0, at + 1).join('.')
  }
  return undefined
}

/** Returns the value at a path, without looking into arrays on the way. */
export function fieldAt(source: unknown, parts: readonly string[]): unknown {
  return parts.reduce<unknown>(
    (value, part) => (isDocument(value) ? getField(value, part) : undefined),
    source,
  )
}

/**
 * Returns the value of an aggregation field path: arrays of documents on the way become arrays of values.
 * Indexes are not allowed in such a path.
 */
export function valueAt(source: unknown, parts: readonly string[], from = 0): unknown {
  const name = parts[from]
  if (name === undefined) return source
  if (isDocument(source)) return valueAt(getField(source, name), parts, from + 1)
  if (!Array.isArray(source)) return undefined
  return source.flatMap((item) => {
    const value = isDocument(item) ? valueAt(item, parts, from) : undefined
    return value === undefined ? [] : [value]
  })
}

/**
 * Returns a copy with one field set, or removed if the value is `undefined`. For an array on the way, this
 * happens in each of its items. Anything else that is not a document is replaced by one, even for no value.
 */
export function withField(
  source: unknown,
  parts: readonly string[],
  value: unknown,
  at = 0,
): unknown {
  const name = parts[at]
  if (name === undefined) return value
  if (Array.isArray(source)) return source.map((item) => withField(item, parts, value, at))
  const copy: Document = isDocument(source) ? { ...source } : {}
  const field = withField(getField(copy, name), parts, value, at + 1)
  if (field === undefined) delete copy[name]
  else setField(copy, name, field)
  return copy
}

/**
 * Returns a copy with one field set. Anything on its path that is not a document, arrays included, is
 * replaced by one.
 */
export function placeField(
  source: unknown,
  parts: readonly string[],
  value: unknown,
  at = 0,
): unknown {
  const name = parts[at]
  if (name === undefined) return value
  const copy: Document = isDocument(source) ? { ...source } : {}
  setField(copy, name, placeField(getField(copy, name), parts, value, at + 1))
  return copy
}
