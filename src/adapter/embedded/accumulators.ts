import { Decimal128 } from 'bson'
import { compareValues, isNumeric, keyOf } from './compare.ts'
import { CommandError, notSupported } from './errors.ts'
import { calculate } from './numbers.ts'

/** Returns the result of one group from its values; `undefined` stands for a missing one. */
export type Accumulator = (values: readonly unknown[]) => unknown

/** The accumulators that must know BSON's numbers and order; mingo has the others. */
export const ACCUMULATORS: ReadonlyMap<string, Accumulator> = new Map<string, Accumulator>([
  ['$sum', sum],
  ['$avg', average],
  ['$min', (values) => extreme(values, -1)],
  ['$max', (values) => extreme(values, 1)],
  ['$push', (values) => values.filter((value) => value !== undefined)],
  ['$addToSet', toSet],
  ['$first', (values) => values[0] ?? null],
  ['$last', (values) => values.at(-1) ?? null],
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
  return count === 0 ? null : Number(sum(values)) / count
}

function extreme(values: readonly unknown[], direction: 1 | -1): unknown {
  const present = values.filter((value) => value !== undefined && value !== null)
  if (present.length === 0) return null
  return present.reduce((best, value) =>
    compareValues(value, best) * direction > 0 ? value : best,
  )
}

function toSet(values: readonly unknown[]): unknown[] {
  const present = values.filter((value) => value !== undefined)
  return [...new Map(present.map((value) => [keyOf(value), value])).values()]
}
