import { Decimal128 } from 'bson'
import { CommandError, notSupported } from '../../errors/command-error.ts'
import { isNullish, isNumeric } from '../../values/bson-type.ts'
import { calculate, MAX_INT32, roundNumber } from '../../values/numbers.ts'
import { typeNameOf } from '../../values/type-names.ts'
import { checkInteger, checkNumber } from './argument-checks.ts'
import type { Compute, Operator, Operators } from './operator.ts'
import { orNull, positional } from './operator.ts'

const MANY = Number.POSITIVE_INFINITY

/** Arithmetic, which is null where an argument is null or missing. */
export const ARITHMETIC: Operators = {
  $abs: numeric('$abs', Math.abs),
  $add: orNull(positional(0, MANY, add)),
  $ceil: numeric('$ceil', Math.ceil),
  $divide: numeric('$divide', (a, b) => a / checkDomain(b, b !== 0, 2, "can't $divide by zero"), 2),
  $exp: numeric('$exp', Math.exp),
  $floor: numeric('$floor', Math.floor),
  $ln: numeric('$ln', (n) => Math.log(checkDomain(n, !(n <= 0), 28766, '$ln needs a number > 0'))),
  $log: numeric('$log', log, 2),
  $log10: numeric('$log10', (n) =>
    Math.log10(checkDomain(n, !(n <= 0), 28761, '$log10 needs a number > 0')),
  ),
  $mod: numeric('$mod', (a, b) => a % checkDomain(b, b !== 0, 16610, "can't $mod by zero"), 2),
  $multiply: orNull(
    positional(0, MANY, (values) => values.reduce(combine('$multiply', 'multiply'), 1)),
  ),
  $pow: numeric(
    '$pow',
    (base, power) =>
      checkDomain(base, base !== 0 || power >= 0, 28764, 'no zero to a negative power') ** power,
    2,
  ),
  $round: rounding('$round', 'even'),
  $sqrt: numeric('$sqrt', (n) =>
    Math.sqrt(checkDomain(n, !(n < 0), 28714, '$sqrt needs a number >= 0')),
  ),
  $subtract: orNull(positional(2, 2, subtract)),
  $trunc: rounding('$trunc', 'zero'),
  $bitAnd: bitwise('$bitAnd', (a, b) => a & b, -1),
  $bitOr: bitwise('$bitOr', (a, b) => a | b, 0),
  $bitXor: bitwise('$bitXor', (a, b) => a ^ b, 0),
  $bitNot: orNull(positional(1, 1, ([n]) => ~toInt32('$bitNot', n))),
  $rand: positional(0, 0, () => Math.random()),
  $sin: trigonometric('$sin', Math.sin, Number.isFinite),
  $cos: trigonometric('$cos', Math.cos, Number.isFinite),
  $tan: trigonometric('$tan', Math.tan, Number.isFinite),
  $asin: trigonometric('$asin', Math.asin, (n) => Math.abs(n) <= 1),
  $acos: trigonometric('$acos', Math.acos, (n) => Math.abs(n) <= 1),
  $atan: trigonometric('$atan', Math.atan, () => true),
  $atan2: numeric('$atan2', Math.atan2, 2),
  $sinh: trigonometric('$sinh', Math.sinh, () => true),
  $cosh: trigonometric('$cosh', Math.cosh, () => true),
  $tanh: trigonometric('$tanh', Math.tanh, () => true),
  $asinh: trigonometric('$asinh', Math.asinh, () => true),
  $acosh: trigonometric('$acosh', Math.acosh, (n) => n >= 1),
  $atanh: trigonometric('$atanh', Math.atanh, (n) => Math.abs(n) <= 1),
  $degreesToRadians: numeric('$degreesToRadians', (n) => n * (Math.PI / 180)),
  $radiansToDegrees: numeric('$radiansToDegrees', (n) => n * (180 / Math.PI)),
}

function numeric(name: string, compute: (...numbers: number[]) => number, count = 1): Operator {
  return orNull(
    positional(count, count, (values) =>
      compute(...values.map((value) => checkNumber(name, value))),
    ),
  )
}

function checkDomain(value: number, isValid: boolean, code: number, message: string): number {
  if (isValid) return value
  throw new CommandError(code, message)
}

function trigonometric(
  name: string,
  compute: (value: number) => number,
  accepts: (value: number) => boolean,
): Operator {
  return numeric(name, (value) => {
    const isValid = Number.isNaN(value) || accepts(value)
    return compute(checkDomain(value, isValid, 50989, `cannot apply ${name} to ${value}`))
  })
}

function log(value: number, base: number): number {
  checkDomain(value, !(value <= 0), 28758, "$log's argument must be a positive number")
  checkDomain(base, !(base <= 0) && base !== 1, 28759, "$log's base must be positive and not 1")
  return Math.log(value) / Math.log(base)
}

function rounding(name: string, mode: 'even' | 'zero'): Operator {
  return positional(1, 2, ([value, place = 0]) => {
    if (isNullish(value) || place === null) return null
    const digits = checkInteger(`${name}'s place`, place, 51083, -20)
    checkDomain(digits, digits <= 100, 51083, `cannot apply ${name} with the place ${digits}`)
    return roundNumber(checkNumber(name, value), digits, mode)
  })
}

function bitwise(name: string, compute: (a: number, b: number) => number, start: number): Operator {
  return orNull(
    positional(0, MANY, (values) =>
      values.reduce<number>((result, value) => compute(result, toInt32(name, value)), start),
    ),
  )
}

function toInt32(name: string, value: unknown): number {
  const number = checkNumber(name, value)
  if (Number.isInteger(number) && Math.abs(number) <= MAX_INT32) return number
  throw notSupported(`${name} with anything but whole numbers of 32 bits`)
}

function add(values: Parameters<Compute>[0]): unknown {
  const dates = values.filter((value) => value instanceof Date)
  if (dates.length > 1) throw new CommandError(16612, 'only one date allowed in an $add expression')
  const sum = values.filter((value) => !(value instanceof Date)).reduce(combine('$add', 'add'), 0)
  const [date] = dates
  return date === undefined ? sum : toDate(date.getTime() + Number(sum))
}

function subtract([a, b]: Parameters<Compute>[0]): unknown {
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime()
  const negative = combine('$subtract', 'multiply')(b, -1)
  if (a instanceof Date) return toDate(a.getTime() + Number(negative))
  return combine('$subtract', 'add')(a, negative)
}

function combine(name: string, operation: 'add' | 'multiply') {
  return (a: unknown, b: unknown): unknown => {
    const wrong = [a, b].find((value) => !isNumeric(value))
    if (wrong !== undefined) {
      throw new CommandError(14, `${name} only supports numeric types, not ${typeNameOf(wrong)}`)
    }
    const result = calculate(a, b, operation)
    if (result !== undefined) return result
    const isDecimal = a instanceof Decimal128 || b instanceof Decimal128
    throw notSupported(`${name} ${isDecimal ? 'with Decimal128' : 'beyond the range of a long'}`)
  }
}

function toDate(time: number): Date {
  const date = new Date(Math.trunc(time))
  if (Number.isNaN(date.getTime())) throw new CommandError(15, 'date overflow')
  return date
}
