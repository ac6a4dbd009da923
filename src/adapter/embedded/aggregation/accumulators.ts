import { Decimal128, Long } from 'bson'
import { CommandError, notSupported } from '../errors/command-error.ts'
import { isNullish, isNumeric } from '../values/bson-type.ts'
import type { Collation } from '../values/collation.ts'
import { compareValues, valuesByKey } from '../values/compare.ts'
import { calculate } from '../values/numbers.ts'
import { mergeObjects } from './operators/objects.ts'

/** Returns the result of one group from its values; `undefined` stands for a missing one. */
export type Accumulator = (values: readonly unknown[], collation: Collation | undefined) => unknown

/** Every accumulator that a group may have, and no other. */
export const ACCUMULATORS: ReadonlyMap<string, Accumulator> = new Map<string, Accumulator>([
  ['$sum', sum],
  ['$avg', average],
  ['$min', (values, collation) => extreme(values, -1, collation)],
  ['$max', (values, collation) => extreme(values, 1, collation)],
  ['$push', (values) => values.filter((value) => value !== undefined)],
  ['$addToSet', toSet],
  ['$first', (values) => values[0] ?? null],
  ['$last', (values) => values.at(-1) ?? null],
  ['$mergeObjects', mergeObjects],
  ['$count', (values) => values.length],
])

function sum(values: readonly unknown[]): unknown {
  return values.filter(isNumeric).reduce((total, value) => {
    if (value instanceof Decimal128) throw notSupported('$sum with Decimal128')
    const result = calculate(total, value, 'add')
    if (result === undefined) throw new CommandError(2, 'long overflow in $sum')
    return result
  }, 0)
}

function average(values: readonly unknown[]): unknown {
  const count = values.filter(isNumeric).length
  const total = count === 0 ? 0 : sum(values)
  if (total instanceof Long) throw notSupported('$avg of a sum beyond 2^53')
  return count === 0 ? null : Number(total) / count
}

function extreme(
  values: readonly unknown[],
  direction: 1 | -1,
  collation: Collation | undefined,
): unknown {
  const present = values.filter((value) => !isNullish(value))
  if (present.length === 0) return null
  return present.reduce((best, value) =>
    compareValues(value, best, collation) * direction > 0 ? value : best,
  )
}

function toSet(values: readonly unknown[], collation: Collation | undefined): unknown[] {
  const present = values.filter((value) => value !== undefined)
  return [...valuesByKey(present, collation).values()]
}
