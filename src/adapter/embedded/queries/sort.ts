import type { Document } from 'bson'
import { isDocument, isNumeric } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import { compareValues } from '../../matching/compare.ts'
import { arrayOn, indexValuesAt } from '../../matching/field-paths.ts'
import { readPath } from '../protocol/read-fields.ts'
import type { TextScore } from './text-query.ts'
import { readTextScore } from './text-query.ts'

/** Returns the first documents in order, at most `limit`; equal ones keep their order. */
export type Sorter = (documents: readonly Document[], limit?: number) => Document[]

/** Returns a sort specification as a function. @throws {CommandError} it is not valid */
export function compileSort(
  spec: unknown,
  collation: Collation | undefined,
  textScore?: TextScore,
): Sorter {
  if (!isDocument(spec)) throw new CommandError(14, 'A sort must be an object')
  const fields = Object.entries(spec).map(([path, direction]) => {
    if (path === '$natural') throw notSupported(`A sort by '${path}'`)
    if (isDocument(direction)) {
      // The best comes first.
      return { parts: [], direction: -1, score: readTextScore(direction, textScore) }
    }
    if (direction !== 1 && direction !== -1) {
      const message = '$sort key ordering must be 1 (for ascending) or -1 (for descending)'
      throw new CommandError(isNumeric(direction) ? 15975 : 15974, message)
    }
    return { parts: readPath('a sort', path), direction, score: undefined }
  })
  if (fields.length > 32) throw new CommandError(13103, 'too many compound keys')
  const toKeys = (document: Document): unknown[] => {
    checkArrays(fields.flatMap(({ parts }) => arrayOn(document, parts) ?? []))
    // An array sorts by its lowest item when ascending and by its highest when descending.
    return fields.map(({ parts, direction, score }) =>
      indexValuesAt(score?.(document) ?? document, parts).reduce((best, key) =>
        direction * compareValues(key, best, collation) < 0 ? key : best,
      ),
    )
  }
  const compare = (a: Keyed, b: Keyed): number => {
    for (const [index, { direction }] of fields.entries()) {
      const order = compareValues(a.keys[index], b.keys[index], collation)
      if (order !== 0) return order * direction
    }
    return 0
  }
  return (documents, limit = Number.POSITIVE_INFINITY) => {
    let first: Keyed[] = []
    for (const document of documents) {
      first.push({ document, keys: toKeys(document) })
      // Documents beyond the limit now will never move before it.
      if (first.length > 2 * limit + SPARE) first = first.sort(compare).slice(0, limit)
    }
    const sorted = first.sort(compare).slice(0, limit)
    return sorted.map(({ document }) => document)
  }
}

/** How many documents beyond twice the limit are collected before sorting. */
const SPARE = 256

interface Keyed {
  readonly document: Document
  readonly keys: readonly unknown[]
}

/**
 * @throws {CommandError} 2 the fields of a sort lead to or through several arrays, or to the same one twice
 */
function checkArrays([array, ...others]: readonly string[]): void {
  if (others.some((path) => path !== array)) {
    throw new CommandError(2, 'cannot sort with keys that are parallel arrays')
  }
  if (others.length > 0) throw notSupported(`A sort by several fields of the array '${array}'`)
}
