import type { Document } from 'bson'
import { CommandError, notSupported } from '../../errors/command-error.ts'
import { spendItems } from '../../limits/work-limits.ts'
import { compileSort } from '../../queries/sort.ts'
import { isDocument, isNullish } from '../../values/bson-type.ts'
import type { Collation } from '../../values/collation.ts'
import { compareValues, isEqual, keysOf, valuesByKey } from '../../values/compare.ts'
import { isTrue } from '../../values/truth.ts'
import { checkArray, checkInteger } from './argument-checks.ts'
import type { Operator, Operators } from './operator.ts'
import { named, orNull, positional } from './operator.ts'

const MAX_RANGE = 1_000_000
const MANY = Number.POSITIVE_INFINITY

/** Operators on arrays; those on sets compare by value and forget the order. */
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
  $indexOfArray: positional(2, 4, indexOfArray),
  $isArray: positional(1, 1, ([value]) => Array.isArray(value)),
  $range: positional(2, 3, range),
  $reverseArray: orNull(
    positional(1, 1, ([array]) => checkArray('$reverseArray', array, 34435).toReversed()),
  ),
  $size: positional(1, 1, ([array]) => checkArray('The argument to $size', array, 17124).length),
  $slice: orNull(positional(2, 3, slice)),
  $sortArray: named(['input', 'sortBy'], sortArray),
  $zip: named(['inputs', 'useLongestLength?', 'defaults?'], zip),
  $setUnion: sets((arrays, keyed) => [...keyed(arrays.flat(1)).values()]),
  $setIntersection: sets((arrays, keyed) => {
    const [first = new Map(), ...others] = arrays.map((array) => keyed(array))
    return [...first].flatMap(([key, value]) =>
      others.every((other) => other.has(key)) ? [value] : [],
    )
  }),
  $setDifference: sets(([first = [], second = []], keyed) => {
    const others = keyed(second)
    return [...keyed(first)].flatMap(([key, value]) => (others.has(key) ? [] : [value]))
  }, 2),
  $setEquals: positional(2, MANY, (lists, collation) => {
    const [first = new Set(), ...others] = lists.map((list) =>
      keysOf(checkArray('$setEquals', list, 17044), collation),
    )
    return others.every(
      (other) => other.size === first.size && [...other].every((key) => first.has(key)),
    )
  }),
  $setIsSubset: positional(2, 2, ([list, whole], collation) => {
    const keys = keysOf(checkArray('$setIsSubset', list, 17046), collation)
    const all = keysOf(checkArray('$setIsSubset', whole, 17042), collation)
    return [...keys].every((key) => all.has(key))
  }),
  $allElementsTrue: positional(1, 1, ([list]) =>
    checkArray('$allElementsTrue', list, 17040).every(isTrue),
  ),
  $anyElementTrue: positional(1, 1, ([list]) =>
    checkArray('$anyElementTrue', list, 17041).some(isTrue),
  ),
}

type Keyed = (array: readonly unknown[]) => Map<string, unknown>

function sets(
  compute: (arrays: readonly (readonly unknown[])[], keyed: Keyed) => unknown[],
  count?: number,
): Operator {
  return orNull(
    positional(count ?? 0, count ?? MANY, (lists, collation) =>
      compute(
        lists.map((list) => checkArray('A set operator', list, 17043)),
        (array) => valuesByKey(array, collation),
      ),
    ),
  )
}

function indexOfArray(values: readonly unknown[], collation: Collation | undefined): number | null {
  const [array, wanted, start = 0, end = MANY] = values
  if (isNullish(array)) return null
  const list = checkArray('$indexOfArray', array, 40090)
  const from = checkInteger('$indexOfArray', start, 40096, 0)
  const to = end === MANY ? list.length : checkInteger('$indexOfArray', end, 40096, 0)
  const index = list
    .slice(0, to)
    .findIndex((item, at) => at >= from && isEqual(item, wanted, collation))
  return index
}

function range([start, end, step = 1]: readonly unknown[]): number[] {
  const first = checkInteger("$range's start", start, 34443)
  const last = checkInteger("$range's end", end, 34445)
  const by = checkInteger("$range's step", step, 34447)
  if (by === 0) throw new CommandError(34449, '$range requires a non-zero step value')
  const count = Math.max(Math.ceil((last - first) / by), 0)
  if (count > MAX_RANGE) throw notSupported(`A $range of more than ${MAX_RANGE} items`)
  spendItems(count)
  return Array.from({ length: count }, (_, index) => first + index * by)
}

function slice([array, first, count]: readonly unknown[]): unknown[] {
  const list = checkArray('$slice', array, 28724)
  const position = checkInteger("$slice's second argument", first, 28725)
  if (count === undefined) return position < 0 ? list.slice(position) : list.slice(0, position)
  const most = checkInteger("$slice's third argument", count, 28729, 1)
  const from = position < 0 ? Math.max(list.length + position, 0) : position
  return list.slice(from, from + most)
}

function sortArray([input, by]: readonly unknown[], collation: Collation | undefined): unknown {
  if (isNullish(input)) return null
  const list = checkArray("$sortArray's input", input, 2942504)
  if (isDocument(by)) {
    // Anything but a document has none of the fields.
    if (list.every(isDocument)) return compileSort(by, collation)(list as Document[])
    throw notSupported('$sortArray by fields of items that are no documents')
  }
  if (by !== 1 && by !== -1) {
    throw new CommandError(2942505, "$sortArray's sortBy must be 1, -1 or an object")
  }
  return list.toSorted((a, b) => by * compareValues(a, b, collation))
}

function zip([inputs, useLongest = false, defaults = []]: readonly unknown[]): unknown {
  if (isNullish(inputs)) return null
  const lists = checkArray("$zip's inputs", inputs, 34461)
  if (lists.some(isNullish)) return null
  const arrays = lists.map((list) => checkArray("$zip's inputs", list, 34468))
  const fallbacks = checkArray("$zip's defaults", defaults, 34462)
  if (typeof useLongest !== 'boolean') {
    throw new CommandError(34463, "$zip's useLongestLength must be a bool")
  }
  if (fallbacks.length > 0 && (!useLongest || fallbacks.length !== arrays.length)) {
    throw new CommandError(34467, "$zip's defaults need useLongestLength and one value per input")
  }
  const lengths = arrays.map((array) => array.length)
  const count = arrays.length === 0 ? 0 : Math[useLongest ? 'max' : 'min'](...lengths)
  spendItems(count * arrays.length)
  return Array.from({ length: count }, (_, row) =>
    arrays.map((array, column) => (row < array.length ? array[row] : (fallbacks[column] ?? null))),
  )
}
