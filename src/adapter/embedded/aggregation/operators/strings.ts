import { ObjectId } from 'bson'
import { CommandError, notSupported } from '../../errors.ts'
import { bsonTagOf, isNullish, isNumeric, typeNameOf } from '../../values/bson-type.ts'
import type { Operators } from './operator.ts'
import { checkInteger, checkString, orNull, positional } from './operator.ts'

const MANY = Number.POSITIVE_INFINITY
const MAX_STRING = 16_777_216

/** Operators on strings; positions are code points. MongoDB knows the case of ASCII letters only. */
export const STRINGS: Operators = {
  $concat: orNull(
    positional(0, MANY, (values) => {
      const texts = values.map((value) => checkString('$concat', value, 16702))
      checkLength(texts.reduce((length, text) => length + text.length, 0))
      return texts.join('')
    }),
  ),
  $split: orNull(
    positional(2, 2, ([text, by]) => {
      const separator = checkString('$split', by, 40086)
      if (separator === '') throw new CommandError(40087, '$split requires a non-empty separator')
      return checkString('$split', text, 40085).split(separator)
    }),
  ),
  $strLenCP: positional(1, 1, ([text]) => [...checkString('$strLenCP', text, 34471)].length),
  $substrCP: positional(3, 3, ([value, start, count]) => {
    const from = checkInteger('$substrCP', start, 34451, 0)
    const length = checkInteger('$substrCP', count, 34455, 0)
    return [...coerce(value)].slice(from, from + length).join('')
  }),
  $toLower: positional(1, 1, ([value]) =>
    coerce(value).replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  ),
  $toUpper: positional(1, 1, ([value]) =>
    coerce(value).replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
  ),
}

/** Returns a value as a string: these operators take numbers, dates and null as well. */
function coerce(value: unknown): string {
  return isNullish(value) ? '' : toMongoString(value, 16007)
}

function checkLength(length: number): void {
  if (length > MAX_STRING)
    throw new CommandError(10334, `A string is longer than ${MAX_STRING} bytes`)
}

/** Operators on the types of values. */
export const TYPES: Operators = {
  $toObjectId: orNull(positional(1, 1, ([value]) => toObjectId(value))),
  $toString: orNull(positional(1, 1, ([value]) => toMongoString(value))),
  $type: positional(1, 1, ([value]) => typeNameOf(value)),
  $isNumber: positional(1, 1, ([value]) => isNumeric(value)),
}

function toObjectId(value: unknown): unknown {
  if (value instanceof ObjectId) return value
  if (typeof value === 'string' && /^[0-9a-f]{24}$/i.test(value)) return new ObjectId(value)
  const what = typeof value === 'string' ? `'${value}'` : `a value of type ${typeNameOf(value)}`
  const message = `Failed to convert ${what} to objectId in $convert with no onError value`
  throw new CommandError(241, message)
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
