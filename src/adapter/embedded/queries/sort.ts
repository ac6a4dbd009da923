import type { Document } from 'bson'
import { CommandError, notSupported } from '../errors.ts'
import { readPath } from '../protocol/read-fields.ts'
import { isDocument, typeOrderOf } from '../values/bson-type.ts'
import type { Collation } from '../values/compare.ts'
import { compareValues } from '../values/compare.ts'
import { valuesAt } from '../values/field-paths.ts'
import type { TextScore } from './text-query.ts'
import { readTextScore } from './text-query.ts'

/** Returns the first documents in order, at most `limit`; those that are equal keep their places. */
export type Sorter = (documents: readonly Document[], limit?: number) => Document[]

/** Returns a sort specification as a function. @throws {CommandError} it is not valid */
export function compileSort(
  spec: unknown,
  collation: Collation | undefined,
  textScore?: TextScore,
): Sorter {
  if (!isDocument(spec)) throw new CommandError(14, 'A sort must be an object')
  const fields = Object.entries(spec).map(([path, direction]) => {
    if (path.startsWith('$')) throw notSupported(`A sort by '${path}'`)
    if (isDocument(direction)) {
      // The best comes first.
      return { parts: [], direction: -1, score: readTextScore(direction, textScore) }
    }
    if (direction !== 1 && direction !== -1 && direction !== true) {
      const message = '$sort key ordering must be 1 (for ascending) or -1 (for descending)'
      throw new CommandError(15975, message)
    }
    return { parts: readPath('a sort', path), direction: Number(direction), score: undefined }
  })
  const compare = (a: Keyed, b: Keyed): number => {
    for (const [index, { direction }] of fields.entries()) {
      const order = compareKeys(a.keys[index], b.keys[index], collation)
      if (order !== 0) return order * direction
    }
    return 0
  }
  return (documents, limit = Number.POSITIVE_INFINITY) => {
    let first: Keyed[] = []
    for (const document of documents) {
      const keys = fields.map(({ parts, direction, score }) =>
        score === undefined ? toSortKey(document, parts, direction, collation) : score(document),
      )
      first.push({ document, keys })
      // What is behind the limit now will not come before it.
      if (first.length > 2 * limit + SPARE) first = first.sort(compare).slice(0, limit)
    }
    const sorted = first.sort(compare).slice(0, limit)
    return sorted.map(({ document }) => document)
  }
}

/** By how many documents more than twice the limit are sorted at once. */
const SPARE = 256

interface Keyed {
  readonly document: Document
  readonly keys: readonly unknown[]
}

/** An empty array stands below null, where BSON's old type `undefined` stands. */
const EMPTY_ARRAY: unique symbol = Symbol('empty array')

/** An array sorts by its lowest item when ascending and by its highest when descending. */
function toSortKey(
  document: Document,
  parts: readonly string[],
  direction: number,
  collation: Collation | undefined,
): unknown {
  const values = valuesAt(document, parts)
  const keys = values.flatMap((value): unknown[] =>
    Array.isArray(value) ? (value.length === 0 ? [EMPTY_ARRAY] : value) : [value],
  )
  return keys.length < 2
    ? keys[0]
    : keys.reduce((best, key) => (direction * compareKeys(key, best, collation) < 0 ? key : best))
}

function compareKeys(a: unknown, b: unknown, collation: Collation | undefined): number {
  if (a !== EMPTY_ARRAY && b !== EMPTY_ARRAY) return compareValues(a, b, collation)
  if (a === b) return 0
  const other = typeOrderOf(a === EMPTY_ARRAY ? b : a)
  const below = other === 0 ? 1 : -1
  return a === EMPTY_ARRAY ? below : -below
}
