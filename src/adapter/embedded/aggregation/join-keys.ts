import type { Document } from 'bson'
import { isDocument } from '../values/bson-type.ts'
import type { Collation } from '../values/collation.ts'
import { keysOf } from '../values/compare.ts'
import { getField, isIndex, valuesAt } from '../values/field-paths.ts'

/** Returns the documents that have one of the keys: each once, in the order they were given in. */
export type FindByKeys = (keys: Iterable<string>) => Document[]

/**
 * Returns the values that a join looks for in other documents: an array stands for its items, an
 * array on the way for the documents in it, and an index in the path for that item only. A field
 * that is missing has no value.
 */
export function joinValuesAt(source: unknown, parts: readonly string[], from = 0): unknown[] {
  const name = parts[from]
  if (name === undefined) {
    if (Array.isArray(source)) return source
    return source === undefined ? [] : [source]
  }
  if (isDocument(source)) return joinValuesAt(getField(source, name), parts, from + 1)
  if (!Array.isArray(source)) return []
  if (isIndex(name)) return joinValuesAt(source[Number(name)], parts, from + 1)
  return source.filter(isDocument).flatMap((item) => joinValuesAt(item, parts, from))
}

/**
 * Returns how to find documents by the keys of values, as `$in` on the path would find them by the
 * values: by an item of an array or the array as a whole, and by null where the field is missing.
 * Made once, so that a join need not look at each document again for each value.
 */
export function createFinder(
  documents: readonly Document[],
  parts: readonly string[],
  collation: Collation | undefined,
): FindByKeys {
  const byKey = new Map<string, number[]>()
  for (const [index, document] of documents.entries()) {
    const values = valuesAt(document, parts)
    const items = values.flatMap((value) => (Array.isArray(value) ? value : []))
    for (const key of keysOf([...values, ...items], collation)) {
      const known = byKey.get(key)
      if (known === undefined) byKey.set(key, [index])
      else known.push(index)
    }
  }
  return (keys) => {
    const found = new Set([...keys].flatMap((key) => byKey.get(key) ?? []))
    return [...found].sort((a, b) => a - b).flatMap((index) => documents[index] ?? [])
  }
}
