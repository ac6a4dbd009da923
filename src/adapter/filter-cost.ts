import type { Document } from 'mongodb'
import { isIndex } from './matching/field-paths.ts'
import { isLogical, isOperators } from './matching/filter.ts'

/** One comparison that a filter makes with the values of a field. */
interface Condition {
  /** The first part of its path: what is in that field is walked through. */
  readonly field: string
  /** How many times as long it takes as to look at each byte of the field. */
  readonly weight: number
}

/** What a filter asks of a record. */
export interface FilterCost {
  /** How many comparisons it makes with the values of fields. */
  readonly conditions: number
  /** By the fields of a record that it looks at, how many times. */
  readonly weights: ReadonlyMap<string, number>
}

/** How many characters of a pattern are compared while one is looked at. */
const PATTERN_STEP = 8

/** Returns what a filter that is valid asks of a record. */
export function measureFilter(filter: Document): FilterCost {
  const weights = new Map<string, number>()
  let conditions = 0
  for (const { field, weight } of listConditions(filter, undefined, 1)) {
    conditions += 1
    weights.set(field, (weights.get(field) ?? 0) + weight)
  }
  return { conditions, weights }
}

/** @param within the field that the filter is about, in `$elemMatch` */
function* listConditions(
  filter: Document,
  within: string | undefined,
  factor: number,
): Generator<Condition> {
  for (const [name, condition] of Object.entries(filter)) {
    if (name.startsWith('$')) {
      for (const one of condition as Document[]) yield* listConditions(one, within, factor)
      continue
    }
    const parts = name.split('.')
    // An index is looked for in a list and in each document of it, and so is what follows.
    const indexes = parts.filter(isIndex).length
    yield* listTests(condition, within ?? parts[0] ?? '', factor * 2 ** indexes)
  }
}

function* listTests(condition: unknown, field: string, factor: number): Generator<Condition> {
  if (!isOperators(condition)) {
    yield { field, weight: factor * toWeight(condition) }
    return
  }
  for (const [name, operand] of Object.entries(condition)) {
    const isFilter = name === '$elemMatch' && (!isOperators(operand) || isLogical(operand))
    if (isFilter) yield* listConditions(operand as Document, field, factor)
    else if (name === '$not' || name === '$elemMatch') yield* listTests(operand, field, factor)
    else if (name === '$all') {
      for (const one of operand as unknown[]) yield* listTests(one, field, factor)
    } else if (name === '$in' || name === '$nin') {
      yield { field, weight: factor }
      const patterns = (operand as unknown[]).filter((one) => one instanceof RegExp)
      for (const pattern of patterns) yield { field, weight: factor * toWeight(pattern) }
    } else if (name === '$regex') yield { field, weight: factor * toPatternWeight(operand) }
    else if (name !== '$options') yield { field, weight: factor }
  }
}

function toWeight(operand: unknown): number {
  return operand instanceof RegExp ? toPatternWeight(operand) : 1
}

function toPatternWeight(pattern: unknown): number {
  const { length } = pattern instanceof RegExp ? pattern.source : String(pattern)
  return Math.ceil(length / PATTERN_STEP)
}
