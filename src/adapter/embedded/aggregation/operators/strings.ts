import { CommandError, notSupported } from '../../errors.ts'
import { isNullish } from '../../values/bson-type.ts'
import { toMongoString } from './conversions.ts'
import type { Operator, Operators } from './operator.ts'
import { checkInteger, checkString, named, orNull, positional } from './operator.ts'

const MANY = Number.POSITIVE_INFINITY
const MAX_STRING = 16_777_216
/** What `$trim` removes where no `chars` are given. */
const WHITESPACE =
  '\0\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a'

/** Operators on strings; positions are code points. MongoDB knows the case of ASCII letters only. */
export const STRINGS: Operators = {
  $concat: orNull(
    positional(0, MANY, (values) => {
      const texts = values.map((value) => checkString('$concat', value, 16702))
      checkLength(texts.reduce((length, text) => length + text.length, 0))
      return texts.join('')
    }),
  ),
  $ltrim: trim('$ltrim', { left: true, right: false }),
  $rtrim: trim('$rtrim', { left: false, right: true }),
  $trim: trim('$trim', { left: true, right: true }),
  $replaceOne: replacing('$replaceOne', false),
  $replaceAll: replacing('$replaceAll', true),
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

function trim(name: string, { left, right }: { left: boolean; right: boolean }): Operator {
  return named(['input', 'chars?'], ([input, chars = WHITESPACE]) => {
    if (isNullish(input) || chars === null) return null
    const points = [...checkString(`${name}'s input`, input, 50699)]
    const set = new Set(checkString(`${name}'s chars`, chars, 50700))
    let from = 0
    let to = points.length
    while (left && from < to && set.has(points[from] ?? '')) from += 1
    while (right && to > from && set.has(points[to - 1] ?? '')) to -= 1
    return points.slice(from, to).join('')
  })
}

function replacing(name: string, all: boolean): Operator {
  return orNull(
    named(['input', 'find', 'replacement'], ([input, find, by]) => {
      const text = checkString(`${name}'s input`, input, 51746)
      const wanted = checkString(`${name}'s find`, find, 51745)
      const replacement = checkString(`${name}'s replacement`, by, 51744)
      if (wanted === '') throw notSupported(`${name} of an empty string`)
      const pieces = text.split(wanted)
      const count = all ? pieces.length - 1 : Math.min(pieces.length - 1, 1)
      checkLength(text.length + count * (replacement.length - wanted.length))
      return all ? pieces.join(replacement) : text.replace(wanted, () => replacement)
    }),
  )
}
