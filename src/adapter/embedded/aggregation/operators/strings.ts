import { isNullish, isNumeric, typeNameOf } from '../../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../../matching/command-error.ts'
import { toMongoString } from './conversions.ts'
import type { Operators } from './operator.ts'
import { checkDomain, checkInteger, checkString, orNull, positional } from './operator.ts'

const MANY = Number.POSITIVE_INFINITY
const MAX_STRING = 16_777_216

/** Operators on strings; positions are code points. MongoDB knows the case of ASCII letters only. */
export const STRINGS: Operators = {
  $concat: orNull(
    positional(0, MANY, (values) => {
      const texts = values.map((value) => checkString('$concat', value, 16702))
      const length = texts.reduce((sum, text) => sum + text.length, 0)
      checkDomain(length, length <= MAX_STRING, 10334, `A string of ${length} bytes is too long`)
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
    const from = checkInteger("$substrCP's start", start, 34450)
    const length = checkInteger("$substrCP's length", count, 34452)
    checkDomain(length, length >= 0, 34454, "$substrCP's length must not be negative")
    checkDomain(from, from >= 0, 34455, "$substrCP's start must not be negative")
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
  if (isNullish(value)) return ''
  if (typeof value !== 'string' && !isNumeric(value) && !(value instanceof Date)) {
    throw new CommandError(16007, `can't convert from BSON type ${typeNameOf(value)} to String`)
  }
  // MongoDB writes 16 digits here.
  const isExact = typeof value !== 'number' || Number(value.toPrecision(16)) === value
  if (isExact) return toMongoString(value)
  throw notSupported(`Converting ${value} to a string of 16 digits`)
}
