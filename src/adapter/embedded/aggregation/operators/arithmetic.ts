import { Decimal128 } from 'bson'
import { isNumeric, typeNameOf } from '../../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../../matching/command-error.ts'
import { calculate, roundNumber } from '../../../matching/numbers.ts'
import type { Compute, Operator, Operators } from './operator.ts'
import { checkDomain, checkInteger, checkNumber, orNull, positional } from './operator.ts'

const MANY = Number.POSITIVE_INFINITY

/** Arithmetic, which returns null if an argument is null or missing. */
export const ARITHMETIC: Operators = {
  $abs: numeric('$abs', Math.abs),
  $add: orNull(positional(0, MANY, add)),
  $ceil: numeric('$ceil', Math.ceil),
  $divide: numeric(
    '$divide',
    (a, b) => a / checkDomain(b, b !== 0, 2, "can't $divide by zero"),
    2,
    14,
  ),
  $floor: numeric('$floor', Math.floor),
  $mod: numeric('$mod', modulo, 2, 16611),
  $multiply: orNull(
    positional(0, MANY, (values) => values.reduce(combine('$multiply', 'multiply'), 1)),
  ),
  $round: rounding('$round', 'even'),
  $subtract: orNull(positional(2, 2, subtract)),
  $trunc: rounding('$trunc', 'zero'),
}

function numeric(
  name: string,
  compute: (...numbers: number[]) => number,
  count = 1,
  code = 28765,
): Operator {
  return orNull(
    positional(count, count, (values) =>
      compute(...values.map((value) => checkNumber(name, value, code))),
    ),
  )
}

/** Integers have no -0. */
function modulo(a: number, b: number): number {
  return (a % checkDomain(b, b !== 0, 16610, "can't $mod by zero")) + 0
}

function rounding(name: string, mode: 'even' | 'zero'): Operator {
  return orNull(
    positional(1, 2, ([value, place = 0]) => {
      const number = checkNumber(name, value, 51081)
      const digits = checkInteger(`${name}'s place`, place, 51081)
      const rule = `cannot apply ${name} with the place ${digits}`
      checkDomain(digits, digits >= -20 && digits <= 100, 51083, rule)
      return roundNumber(number, digits, mode)
    }),
  )
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
  if (time % 1 !== 0 && Number.isFinite(time)) throw notSupported('A date and a part of a ms')
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) throw new CommandError(15, 'date overflow')
  return date
}
