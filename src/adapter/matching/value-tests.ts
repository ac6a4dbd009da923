import { BSONRegExp } from 'bson'
import { isNumeric, typeNameOf, typeOrderOf } from './bson-type.ts'
import { CommandError } from './command-error.ts'
import type { Collation } from './compare.ts'
import { keyOf, keysOf } from './compare.ts'
import { toWhole } from './numbers.ts'
import { isRegex, toRegExp } from './regular-expression.ts'

/** Returns whether a value meets a condition. An array is one value: its items do not count. */
export type ValueTest = (value: unknown) => boolean

/**
 * Returns the test whether a value is equal to an item of a list. It computes the key of a value only if the list has
 * items of the same type, because a document may have thousands of other values.
 */
export function toListed(list: readonly unknown[], collation: Collation | undefined): ValueTest {
  // A Set compares numbers and strings as isEqual() does. Numbers of a BSON class are compared by their keys.
  const isPlain = (value: unknown): boolean =>
    typeof value === 'number' || (typeof value === 'string' && collation === undefined)
  const plain = new Set(list.filter(isPlain))
  const toOrders = (values: readonly unknown[]): Set<number> => new Set(values.map(typeOrderOf))
  const [orders, otherOrders] = [toOrders(list), toOrders(list.filter((one) => !isPlain(one)))]
  const keys = keysOf(list, collation)
  return (value) => {
    if (plain.has(value)) return true
    const compared = isPlain(value) ? otherOrders : orders
    if (compared.size === 0 || !compared.has(typeOrderOf(value))) return false
    return keys.has(keyOf(value, collation))
  }
}

/** BSON's type numbers, for `$type`. */
const NAMES_BY_NUMBER: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [-1, 'minKey'],
  [127, 'maxKey'],
  ...[
    ...['', 'double', 'string', 'object', 'array', 'binData', 'undefined', 'objectId', 'bool'],
    ...['date', 'null', 'regex', '', 'javascript', 'symbol', '', 'int', 'timestamp', 'long'],
    'decimal',
  ].entries(),
])

const TYPE_NAMES: ReadonlySet<unknown> = new Set([
  ...[...NAMES_BY_NUMBER.values()].filter((name) => name !== ''),
  'number',
])

/** Returns the test of `$regex`: a string that matches, or an equal regular expression. */
export function toRegexTest(pattern: unknown, flags?: unknown): ValueTest {
  const regex = toRegExp(pattern, flags)
  const same = flags === undefined && isRegex(pattern) ? keyOf(pattern) : undefined
  return (value) =>
    typeof value === 'string'
      ? regex.test(value)
      : value instanceof BSONRegExp && keyOf(value) === same
}

/** Returns the test of `$size`. @throws {CommandError} the operand is not a length */
export function toSizeTest(operand: unknown): ValueTest {
  if (typeof operand !== 'number' || !Number.isInteger(operand) || operand < 0) {
    throw new CommandError(2, `Failed to parse $size. Expected a non-negative number: ${operand}`)
  }
  return (value) => Array.isArray(value) && value.length === operand
}

/** Returns the test of `$mod`. @throws {CommandError} the operand is not `[divisor, remainder]` */
export function toModTest(operand: unknown): ValueTest {
  if (!Array.isArray(operand) || operand.length !== 2 || !operand.every(Number.isFinite)) {
    throw new CommandError(2, 'malformed mod, it needs an array of two numbers')
  }
  const [divisor = 0n, remainder = 0n] = operand.map((number) => BigInt(Math.trunc(number)))
  if (divisor === 0n) throw new CommandError(2, 'divisor cannot be 0')
  return (value) => {
    const whole = isNumeric(value) ? toWhole(value) : undefined
    return whole !== undefined && whole % divisor === remainder
  }
}

/** Returns the test of a filter's `$type`. @throws {CommandError} a type is not known */
export function toTypeTest(operand: unknown): ValueTest {
  const names = new Set(
    (Array.isArray(operand) ? operand : [operand]).map((type) => {
      const name = NAMES_BY_NUMBER.get(type) ?? type
      if (!TYPE_NAMES.has(name))
        throw new CommandError(2, `Unknown type name alias: ${String(type)}`)
      return name
    }),
  )
  if (names.size === 0) throw new CommandError(9, '$type must match at least one type')
  return (value) => names.has(typeNameOf(value)) || (names.has('number') && isNumeric(value))
}
