import { BSONRegExp } from 'bson'
import { CommandError, notSupported } from './command-error.ts'

/** Syntax that has another meaning in PCRE, MongoDB's engine, than in JavaScript. */
const FOREIGN = /(?<!\\)(?:\\\\)*\\(?:[AEGHKNQRVXZaeghoz]|[pP](?!\{)|x\{)|\[:\w+:\]/

/** Returns whether a value is a regular expression, decoded from BSON or native. */
export function isRegex(value: unknown): value is BSONRegExp | RegExp {
  return value instanceof BSONRegExp || value instanceof RegExp
}

/**
 * Returns a native RegExp; inline flags at the start such as `(?i)` are understood.
 * @throws {CommandError} the pattern or an option cannot be expressed
 */
export function toRegExp(value: unknown, options?: unknown): RegExp {
  if (value instanceof RegExp && options === undefined) return value
  const source =
    value instanceof BSONRegExp ? value.pattern : value instanceof RegExp ? value.source : value
  const ownFlags =
    value instanceof BSONRegExp ? value.options : value instanceof RegExp ? value.flags : ''
  if (typeof source !== 'string') throw new CommandError(2, '$regex has to be a string')
  if (options !== undefined && ownFlags !== '') {
    throw new CommandError(51075, 'options set in both $regex and $options')
  }
  const inline = /^\(\?([imsx]+)\)/.exec(source)
  const flags = new Set(`${options ?? ownFlags}${inline?.[1] ?? ''}`)
  const wrong = [...flags].find((flag) => !'imsxu'.includes(flag))
  if (wrong !== undefined) throw new CommandError(51108, `invalid flag in regex options: ${wrong}`)
  if (flags.has('x')) throw notSupported("The regular expression option 'x'", 51108)
  const pattern = inline === null ? source : source.slice(inline[0].length)
  if (FOREIGN.test(pattern)) throw notSupported(`The regular expression '${pattern}'`, 51091)
  // Named classes such as \p{L} exist in JavaScript only with the flag u.
  if (/\\p\{/i.test(pattern)) flags.add('u')
  try {
    return new RegExp(pattern, [...flags].join(''))
  } catch (error) {
    const message = `Regular expression is invalid: ${(error as Error).message}`
    throw new CommandError(51091, message, {}, { cause: error })
  }
}
