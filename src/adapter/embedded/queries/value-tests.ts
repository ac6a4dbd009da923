import { BSONRegExp } from 'bson'
import { isNumeric, keyOf } from '../values/compare.ts'
import { CommandError } from '../errors/command-error.ts'
import { toWhole } from '../values/numbers.ts'
import { isRegex, toRegExp } from '../values/regular-expression.ts'

/** Returns whether one value, not looking inside an array, meets a condition. */
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

/** Returns the test of `$size`. @throws {CommandError} the operand is no length */
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
