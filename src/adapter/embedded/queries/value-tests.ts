import { BSONRegExp } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { isNumeric } from '../values/bson-type.ts'
import { keyOf } from '../values/compare.ts'
import { toWhole } from '../values/numbers.ts'
import { isRegex, toRegExp } from '../values/regular-expression.ts'
import { typeNameOf } from '../values/type-names.ts'

/** BSON's type numbers, for `$type`. */
const NAMES_BY_NUMBER: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [-1, 'minKey'],
  [1, 'double'],
  [2, 'string'],
  [3, 'object'],
  [4, 'array'],
  [5, 'binData'],
  [6, 'undefined'],
  [7, 'objectId'],
  [8, 'bool'],
  [9, 'date'],
  [10, 'null'],
  [11, 'regex'],
  [13, 'javascript'],
  [14, 'symbol'],
  [16, 'int'],
  [17, 'timestamp'],
  [18, 'long'],
  [19, 'decimal'],
  [127, 'maxKey'],
])

const TYPE_NAMES: ReadonlySet<unknown> = new Set([...NAMES_BY_NUMBER.values(), 'number'])

/** Returns whether a value meets a condition; an array is a value, its items do not count. */
export type ValueTest = (value: unknown) => boolean

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
export function toTypeTest(operand: unknown): (value: unknown) => boolean {
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
