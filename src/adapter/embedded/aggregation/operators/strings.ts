import { CommandError } from '../../errors.ts'
import { isNullish } from '../../values/bson-type.ts'
import { toMongoString } from './conversions.ts'
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
