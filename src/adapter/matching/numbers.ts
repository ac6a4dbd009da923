import { Decimal128, Long } from 'bson'

/** The largest number that BSON stores as an `int`. */
export const MAX_INT32: number = 2 ** 31 - 1

/**
 * Returns MongoDB's order of two numbers of any BSON type, exactly: a double is compared by the
 * value it holds, so 0.1 and Decimal128 0.1 differ. NaN equals itself and is below all others.
 */
export function compareNumbers(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') {
    if (a < b) return -1
    if (a > b) return 1
    return Number(Number.isNaN(b)) - Number(Number.isNaN(a))
  }
  const left = toFraction(a)
  const right = toFraction(b)
  if (typeof left === 'number' || typeof right === 'number') {
    // One is infinite or not a number: the other may be any finite number.
    return compareNumbers(
      typeof left === 'number' ? left : 0,
      typeof right === 'number' ? right : 0,
    )
  }
  const difference = left.numerator * right.denominator - right.numerator * left.denominator
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Returns a string that is the same for numbers that are equal, whatever their BSON type. */
export function numberKey(value: unknown): string {
  if (typeof value === 'number') return value === 0 ? '0' : String(value)
  const approximate = Number(String(value))
  if (compareNumbers(value, approximate) === 0) return numberKey(approximate)
  const { numerator, denominator } = toFraction(value) as Fraction
  const divisor = greatestDivisor(numerator < 0n ? -numerator : numerator, denominator)
  return `${numerator / divisor}/${denominator / divisor}`
}

/** Returns the sum or product of two numbers, or `undefined` where the types do not mix here. */
export function calculate(
  a: unknown,
  b: unknown,
  operation: 'add' | 'multiply',
): number | Long | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const result = operation === 'add' ? a + b : a * b
    if (!Number.isInteger(a) || !Number.isInteger(b)) return result
    // Integers have no -0, and beyond 2^53 a double would lose digits of them.
    if (Number.isSafeInteger(result)) return result + 0
  }
  if (!isInteger(a) || !isInteger(b)) {
    return isReal(a) && isReal(b) ? calculateReal(Number(a), Number(b), operation) : undefined
  }
  const result = operation === 'add' ? toBigInt(a) + toBigInt(b) : toBigInt(a) * toBigInt(b)
  if (BigInt.asIntN(64, result) !== result) return undefined
  return Number.isSafeInteger(Number(result)) ? Number(result) : Long.fromBigInt(result)
}

/**
 * Returns a number rounded to a decimal place, half to even or towards zero. A negative place is
 * left of the decimal point.
 */
export function roundNumber(value: number, place: number, mode: 'even' | 'zero'): number {
  const fraction = toFraction(value)
  if (typeof fraction === 'number') return fraction
  const numerator = fraction.numerator * 10n ** BigInt(Math.max(place, 0))
  const denominator = fraction.denominator * 10n ** BigInt(Math.max(-place, 0))
  const whole = numerator / denominator
  const twice = (numerator % denominator) * 2n
  const isAbove = twice > denominator || (twice === denominator && whole % 2n !== 0n)
  const isBelow = -twice > denominator || (-twice === denominator && whole % 2n !== 0n)
  const step = mode === 'zero' ? 0n : BigInt(isAbove) - BigInt(isBelow)
  return Number(`${whole + step}e${-place}`)
}

/** Returns the whole part of a number of any BSON type, `undefined` where it has none. */
export function toWhole(value: unknown): bigint | undefined {
  const fraction = toFraction(value)
  return typeof fraction === 'number' ? undefined : fraction.numerator / fraction.denominator
}

interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

const isInteger = (value: unknown): value is number | Long =>
  value instanceof Long || Number.isSafeInteger(value)
const isReal = (value: unknown): boolean => value instanceof Long || typeof value === 'number'
const calculateReal = (a: number, b: number, operation: 'add' | 'multiply'): number =>
  operation === 'add' ? a + b : a * b
const toBigInt = (value: number | Long): bigint =>
  typeof value === 'number' ? BigInt(value) : value.toBigInt()

/** Infinite values and NaN have no fraction and come back as numbers. */
function toFraction(value: unknown): Fraction | number {
  if (value instanceof Decimal128) return decimalToFraction(value.toString())
  if (typeof value !== 'number') return { numerator: BigInt(String(value)), denominator: 1n }
  if (!Number.isFinite(value)) return value
  let scaled = value
  let denominator = 1n
  while (!Number.isInteger(scaled)) {
    scaled *= 2
    denominator *= 2n
  }
  return { numerator: BigInt(scaled), denominator }
}

function decimalToFraction(decimal: string): Fraction | number {
  const parts = /^(-?)(\d*)(?:\.(\d*))?(?:E([+-]?\d+))?$/.exec(decimal)
  if (parts === null) return Number(decimal)
  const [, sign, whole = '', rest = '', exponent = '0'] = parts
  const digits = BigInt(`${sign}${whole}${rest}` || '0')
  const power = Number(exponent) - rest.length
  return power >= 0
    ? { numerator: digits * 10n ** BigInt(power), denominator: 1n }
    : { numerator: digits, denominator: 10n ** BigInt(-power) }
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  let [large, small] = [a, b]
  while (small !== 0n) [large, small] = [small, large % small]
  return large
}
