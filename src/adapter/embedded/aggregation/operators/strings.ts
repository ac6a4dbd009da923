import { CommandError, notSupported } from '../../errors/command-error.ts'
import { isNullish } from '../../values/bson-type.ts'
import { checkInteger, checkString } from './argument-checks.ts'
import type { Operator, Operators } from './operator.ts'
import { named, orNull, positional } from './operator.ts'
import { toMongoString } from './string-values.ts'

const MANY = Number.POSITIVE_INFINITY
const MAX_STRING = 16_777_216
/** What `$trim` removes where no `chars` are given. */
const WHITESPACE =
  '\0\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a'

/** Operators on strings; positions are code points, or bytes of UTF-8 where the name says so. */
export const STRINGS: Operators = {
  $concat: orNull(
    positional(0, MANY, (values) => {
      const texts = values.map((value) => checkString('$concat', value, 16702))
      checkLength(texts.reduce((length, text) => length + text.length, 0))
      return texts.join('')
    }),
  ),
  $indexOfBytes: indexOf('$indexOfBytes', {
    length: (text) => Buffer.byteLength(text),
    find: (text, wanted, from, to) => Buffer.from(text).subarray(0, to).indexOf(wanted, from),
  }),
  $indexOfCP: indexOf('$indexOfCP', {
    length: (text) => [...text].length,
    find: (text, wanted, from, to) => {
      const points = [...text]
      const before = points.slice(0, from).join('')
      const at = points.slice(0, to).join('').indexOf(wanted, before.length)
      return at < 0 ? -1 : [...text.slice(0, at)].length
    },
  }),
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
  $strLenBytes: positional(1, 1, ([text]) =>
    Buffer.byteLength(checkString('$strLenBytes', text, 34473)),
  ),
  $strLenCP: positional(1, 1, ([text]) => [...checkString('$strLenCP', text, 34471)].length),
  $strcasecmp: positional(2, 2, ([a, b]) =>
    Buffer.compare(Buffer.from(upper(a)), Buffer.from(upper(b))),
  ),
  $substr: positional(3, 3, substrBytes),
  $substrBytes: positional(3, 3, substrBytes),
  $substrCP: positional(3, 3, ([value, start, count]) => {
    const from = checkInteger('$substrCP', start, 34451, 0)
    const length = checkInteger('$substrCP', count, 34455, 0)
    return [...coerce(value)].slice(from, from + length).join('')
  }),
  $toLower: positional(1, 1, ([value]) =>
    coerce(value).replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  ),
  $toUpper: positional(1, 1, ([value]) => upper(value)),
}

/** Returns a value as a string: these operators take numbers, dates and null as well. */
function coerce(value: unknown): string {
  return isNullish(value) ? '' : toMongoString(value, 16007)
}

/** Returns a string in upper case; MongoDB knows the case of ASCII letters only. */
function upper(value: unknown): string {
  return coerce(value).replace(/[a-z]+/g, (letters) => letters.toUpperCase())
}

function checkLength(length: number): void {
  if (length > MAX_STRING)
    throw new CommandError(10334, `A string is longer than ${MAX_STRING} bytes`)
}

interface Positions {
  readonly length: (text: string) => number
  readonly find: (text: string, wanted: string, from: number, to: number) => number
}

function indexOf(name: string, { length, find }: Positions): Operator {
  return positional(2, 4, ([value, wanted, start = 0, end]) => {
    if (isNullish(value)) return null
    const text = checkString(name, value, 40091)
    const search = checkString(name, wanted, 40092)
    const size = length(text)
    const from = checkInteger(name, start, 40096, 0)
    const to = end === undefined ? size : Math.min(checkInteger(name, end, 40096, 0), size)
    return from > to || from > size ? -1 : find(text, search, from, to)
  })
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

function substrBytes([value, start, count]: readonly unknown[]): string {
  const bytes = Buffer.from(coerce(value))
  const from = checkInteger('$substrBytes', start, 50752, 0)
  const length = checkInteger('$substrBytes', count, 16035)
  const to = length < 0 ? bytes.length : Math.min(from + length, bytes.length)
  const isInside = (at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80
  if (isInside(from) || isInside(to)) {
    throw new CommandError(28656, '$substrBytes: Invalid range, it cuts a character of UTF-8')
  }
  return bytes.toString('utf8', from, to)
}
