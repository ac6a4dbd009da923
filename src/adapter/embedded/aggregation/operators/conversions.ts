import { Decimal128, Long, ObjectId, Timestamp } from 'bson'
import { CommandError, notSupported } from '../../errors.ts'
import { bsonTagOf, isNumeric, typeNameOf } from '../../values/bson-type.ts'
import { isTrue } from '../../values/compare.ts'
import { MAX_INT32, toWhole } from '../../values/numbers.ts'
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
  if (typeof value === 'string' && REAL.test(value)) return Number(value)
  if (typeof value === 'number' || typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.getTime()
  if (value instanceof Long || value instanceof Decimal128) return Number(value.toString())
  throw conversionFailed(value, 'double')
}

function toInt(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  const whole = value instanceof Date ? undefined : readWhole(value)
  if (whole === undefined || Math.abs(Number(whole)) > MAX_INT32) {
    throw conversionFailed(value, 'int')
  }
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
  const isTime = isNumeric(value) && typeNameOf(value) !== 'int' && Number.isFinite(Number(value))
  if (isTime) return new Date(Math.trunc(Number(value)))
  throw conversionFailed(value, 'date')
}

function toObjectId(value: unknown): unknown {
  if (value instanceof ObjectId) return value
  if (typeof value === 'string' && /^[0-9a-f]{24}$/i.test(value)) return new ObjectId(value)
  throw conversionFailed(value, 'objectId')
}

/** Returns a value as MongoDB's string for it. @throws {CommandError} `code` there is none */
export function toMongoString(value: unknown, code = 241): string {
  if (value instanceof Date) return value.toISOString()
  const isConvertible =
    typeof value !== 'object' ||
    ['ObjectId', 'Long', 'Decimal128'].includes(bsonTagOf(value ?? {}) ?? '')
  if (!isConvertible) {
    throw new CommandError(code, `Unsupported conversion from ${typeNameOf(value)} to string`)
  }
  const text = String(value)
  // MongoDB and JavaScript write exponents differently.
  if (typeof value === 'number' && /\de/.test(text))
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

/** Returns a date from ISO 8601, in UTC where no offset is given. @throws {CommandError} 241 */
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
  // `Date` would move a day or an hour that does not exist to the next one.
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
