import { notSupported } from '../../../matching/command-error.ts'
import { spendItems } from '../../limits.ts'
import type { Operators } from './operator.ts'
import { checkArray, checkDomain, checkInteger, orNull, positional } from './operator.ts'

const MAX_RANGE = 1_000_000
const MANY = Number.POSITIVE_INFINITY

/** Operators on arrays. */
export const ARRAYS: Operators = {
  $arrayElemAt: orNull(
    positional(2, 2, ([array, index]) =>
      checkArray('$arrayElemAt', array, 28689).at(checkInteger('$arrayElemAt', index, 28690)),
    ),
  ),
  $concatArrays: orNull(
    positional(0, MANY, (lists) => {
      const arrays = lists.map((list) => checkArray('$concatArrays', list, 28664))
      spendItems(arrays.reduce((sum, array) => sum + array.length, 0))
      return arrays.flat(1)
    }),
  ),
  $first: orNull(positional(1, 1, ([array]) => checkArray('$first', array, 28689)[0])),
  $last: orNull(positional(1, 1, ([array]) => checkArray('$last', array, 28689).at(-1))),
  $isArray: positional(1, 1, ([value]) => Array.isArray(value)),
  $range: positional(2, 3, range),
  $reverseArray: orNull(
    positional(1, 1, ([array]) => checkArray('$reverseArray', array, 34435).toReversed()),
  ),
  $size: positional(1, 1, ([array]) => checkArray('The argument to $size', array, 17124).length),
  $slice: orNull(positional(2, 3, slice)),
}

function range([start, end, ...steps]: readonly unknown[]): number[] {
  const first = checkInteger("$range's start", start, 34443)
  const last = checkInteger("$range's end", end, 34445)
  const by = steps.length === 0 ? 1 : checkInteger("$range's step", steps[0], 34447)
  checkDomain(by, by !== 0, 34449, '$range requires a non-zero step value')
  const count = Math.max(Math.ceil((last - first) / by), 0)
  if (count > MAX_RANGE) throw notSupported(`A $range of more than ${MAX_RANGE} items`)
  spendItems(count)
  return Array.from({ length: count }, (_, index) => first + index * by)
}

function slice([array, first, count]: readonly unknown[]): unknown[] {
  const list = checkArray('$slice', array, 28724)
  const position = checkInteger("$slice's second argument", first, 28725)
  if (count === undefined) return position < 0 ? list.slice(position) : list.slice(0, position)
  const most = checkInteger("$slice's third argument", count, 28727)
  checkDomain(most, most > 0, 28729, "$slice's third argument must be positive")
  const from = position < 0 ? Math.max(list.length + position, 0) : position
  return list.slice(from, from + most)
}
