import { Decimal128, Long, ObjectId, Timestamp } from 'bson'
import { bsonTagOf, isNumeric, typeNameOf } from '../../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../../matching/command-error.ts'
import { isTrue } from '../../../matching/compare.ts'
import { MAX_INT32, toWhole } from '../../../matching/numbers.ts'
import type { Operator, Operators } from './operator.ts'
import { orNull, positional } from './operator.ts'

const INTEGER = /^[+-]?\d+$/
const REAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/** Operators on the types of values. */
export const TYPES: Operators = {
  $toBool: converting((value) => typeof value === 'string' || isTrue(value)),
  $toDate: converting(toDate),
  $toDouble: converting(toDouble),
  $toInt: converting(toInt),
  $toLong: converting(toLong),
  $toObjectId: converting(toObjectId),
  $toString: converting((value) => toMongoString(value)),
  $type: positional(1, 1, ([value]) => typeNameOf(value)),
  $isNumber: positional(1, 1, ([value]) => isNumeric(value)),
}

function converting(convert: (value: unknown) => unknown): Operator {
  return orNull(positional(1, 1, ([value]) => convert(value)))
}

function toDouble(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.getTime()
  if (value instanceof Long) return value.toNumber()
  const text = String(value)
  const number = Number(text)
  const isNumber = value instanceof Decimal128 || (typeof value === 'string' && REAL.test(text))
  const isLost = (number === 0 || !Number.isFinite(number)) && /^[^e]*[1-9]/i.test(text)
  if (isNumber && !isLost) return number
  throw conversionFailed(value, 'double')
}

function toInt(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  const whole = value instanceof Date ? undefined : readWhole(value)
  const isInt = Number(value) >= -MAX_INT32 - 1 && Number(value) <= MAX_INT32
  if (whole === undefined || !isInt) throw conversionFailed(value, 'int')
  return Number(whole)
}

function toLong(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.getTime()
  const whole = readWhole(value)
  if (whole === undefined || BigInt.asIntN(64, whole) !== whole) {
    throw conversionFailed(value, 'long')
  }
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : Long.fromBigInt(whole)
}

function readWhole(value: unknown): bigint | undefined {
  if (value instanceof Decimal128) throw notSupported('Converting a Decimal128 to a whole number')
  if (isNumeric(value)) return toWhole(value)
  return typeof value === 'string' && INTEGER.test(value)
    ? BigInt(value.replace('+', ''))
    : undefined
}

function toDate(value: unknown): unknown {
  const date = dateOf(value)
  if (date !== undefined) return date
  if (typeof value === 'string') return parseDate(value)
  if (value instanceof Decimal128) throw notSupported('Converting a Decimal128 to a date')
  // MongoDB converts longs and doubles to dates, but not ints.
  const isTime = isNumeric(value) && typeNameOf(value) !== 'int'
  const time = new Date(isTime ? Math.trunc(Number(value)) : Number.NaN)
  if (!Number.isNaN(time.getTime())) return time
  throw conversionFailed(value, 'date')
}

function toObjectId(value: unknown): unknown {
  if (value instanceof ObjectId) return value
  if (typeof value === 'string' && /^[0-9a-f]{24}$/i.test(value)) return new ObjectId(value)
  throw conversionFailed(value, 'objectId')
}

/** Returns a number in decimal digits, padded with zeros. @throws {CommandError} 18537 */
export function padNumber(number: number, digits: number): string {
  if (number >= 0 && number <= 9999) return String(number).padStart(digits, '0')
  throw new CommandError(18537, `${number} in a date is outside of the range of 0-9999`)
}

/** Returns MongoDB's string form of a value. @throws {CommandError} 241 there is none */
export function toMongoString(value: unknown): string {
  if (value instanceof Date) {
    return `${padNumber(value.getUTCFullYear(), 4)}${value.toISOString().slice(4)}`
  }
  const isConvertible =
    typeof value !== 'object' ||
    ['ObjectId', 'Long', 'Decimal128'].includes(bsonTagOf(value ?? {}) ?? '')
  if (!isConvertible) {
    throw new CommandError(241, `Unsupported conversion from ${typeNameOf(value)} to string`)
  }
  const text = Object.is(value, -0) ? '-0' : String(value)
  // MongoDB writes exponents differently, below 0.0001 and from 17 digits on.
  if (typeof value === 'number' && /e|^-?(?:0\.0{4}|\d{17})/.test(text))
    throw notSupported(`Converting ${text} to a string`)
  return text
}

const DATE =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?\s*(?:Z|([+-])(\d{2}):?(\d{2})?)?)?$/

/** Returns the date that a date, an ObjectId or a timestamp holds, `undefined` for other values. */
export function dateOf(value: unknown): Date | undefined {
  if (value instanceof Date) return value
  if (value instanceof ObjectId) return value.getTimestamp()
  return value instanceof Timestamp ? new Date(value.t * 1000) : undefined
}

/** Returns a date from ISO 8601, in UTC without an offset. @throws {CommandError} 241 */
export function parseDate(text: string): Date {
  const parts = DATE.exec(text)
  if (parts === null) {
    // MongoDB reads many more formats, all of them with a digit.
    if (/\d/.test(text)) throw notSupported(`A date written as '${text}'`)
    throw conversionFailed(text, 'date')
  }
  const [, day, time = '00:00', seconds = '00', fraction = '', sign, hours, minutes = '00'] = parts
  const iso = `${day}T${time}:${seconds}.${fraction.padEnd(3, '0')}`
  const offset = sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`
  const written = new Date(`${iso}Z`)
  const date = new Date(`${iso}${offset}`)
  // `Date` would move a nonexistent day or hour to the next one.
  if (Number.isNaN(date.getTime()) || written.toISOString() !== `${iso}Z`) {
    throw conversionFailed(text, 'date')
  }
  return date
}

/** Returns the error of a value that cannot be converted. */
export function conversionFailed(value: unknown, type: string): CommandError {
  const what = typeof value === 'string' ? `'${value}'` : `a value of type ${typeNameOf(value)}`
  const message = `Failed to convert ${what} to ${type} in $convert with no onError value`
  return new CommandError(241, message)
}
