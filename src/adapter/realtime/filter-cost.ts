import type { Document } from 'mongodb'
import { isIndex } from '../matching/field-paths.ts'
import { isLogical, isOperators } from '../matching/filter.ts'

/** One comparison that a filter makes with the values of a field. */
interface Condition {
  /** The first part of its path. All values in that field may be compared. */
  readonly field: string
  /** How much longer it takes than looking at each byte of the field once. */
  readonly weight: number
}

/** What it costs to compare a record with a filter. */
interface FilterCost {
  /** How many comparisons it makes with the values of fields. */
  readonly conditions: number
  /** How often it looks at each field, by the name of the field. */
  readonly weights: readonly (readonly [field: string, weight: number])[]
}

/** How many characters of a pattern cost as much as one look at the field. */
const PATTERN_STEP = 8

/** Returns what it costs to compare a record with a valid filter. */
export function measureFilter(filter: Document): FilterCost {
  const weights = new Map<string, number>()
  let conditions = 0
  for (const { field, weight } of listConditions(filter, undefined, 1)) {
    conditions += 1
    weights.set(field, (weights.get(field) ?? 0) + weight)
  }
  return { conditions, weights: [...weights] }
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
    // An index may be a place in a list or the name of a field in each of its items: the rest of the path is followed twice.
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
