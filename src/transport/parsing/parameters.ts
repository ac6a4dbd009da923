import {
  BodyTooComplex,
  InvalidBody,
  InvalidQuery,
  QueryTooLarge,
} from '../../core/errors/coded-errors.ts'
import type { BadRequest, ServiceError } from '../../core/index.ts'
import { decodeParameter } from '../routing/request-path.ts'
import type { Segment } from './nested-query.ts'
import { hasTooManyBrackets, toSegment } from './nested-query.ts'

/** What is parsed, for error messages. */
export type QueryNoun = 'query' | 'body'

/** What names are checked against. */
export interface NameLimits {
  readonly depth: number
  readonly noun: QueryNoun
}

/** Empty brackets before others, as in `$or[][a]=1`. */
const OPEN_ITEM = /^(.*?\[)\]\[/s
const ESCAPES = /(?:%[0-9a-f]{2})+/gi
/** A pair of brackets; otherwise, the rest of the name. */
const BRACKETS = /\[[^[\]]*\]|\[.*/gs
const MAX_LENGTH = 50

/**
 * Returns the values of each name in a raw query. A name that is a number comes before the others, as in qs.
 * @throws {BadRequest} a parameter nests too deeply, or would be lost or ambiguous: a condition that disappears or
 * changes would widen what is read or written
 */
export function readParameters(raw: string, { noun, depth }: NameLimits): Record<string, string[]> {
  // Without a prototype, any name is a key.
  const values: Record<string, string[]> = Object.create(null)
  const text = raw.replace(/%5b/gi, '[').replace(/%5d/gi, ']')
  for (const parameter of text.split('&')) {
    if (parameter === '') continue
    // `]=` ends a name before any other equals sign.
    const bracket = parameter.indexOf(']=')
    const equals = bracket === -1 ? parameter.indexOf('=') : bracket + 1
    const end = equals === -1 ? parameter.length : equals
    const name = decodeParameter(parameter.slice(0, end))
    if (!isUtf8Escaped(parameter)) throw createRefusal(noun, name, 'is not valid UTF-8')
    values[name] ??= []
    values[name].push(decodeParameter(parameter.slice(end + 1)))
  }
  const names = Object.keys(values)
  for (const name of names) {
    if (hasTooManyBrackets(name, depth)) throw createDepthRefusal(noun, depth)
    const reason = toReason(name) ?? toAmbiguity(name, names, values)
    if (reason !== null) throw createRefusal(noun, name, reason)
  }
  return values
}

/**
 * Returns what a name has before its brackets, and in each pair. A bracket that stays open begins the last part.
 * @param name has no text after a bracket
 */
export function splitName(name: string): Segment[] {
  const open = name.indexOf('[')
  if (open === -1) return [name]
  const segments: Segment[] = open === 0 ? [] : [name.slice(0, open)]
  for (const part of name.slice(open).match(BRACKETS) ?? []) {
    const isPair = part.endsWith(']') && part.lastIndexOf('[') === 0
    segments.push(isPair ? toSegment(part.slice(1, -1)) : part)
  }
  return segments
}

/** The errors about where parameters are read from. */
export const PARAMETER_ERRORS: Readonly<
  Record<QueryNoun, Readonly<Record<'Invalid' | 'TooLarge', typeof ServiceError>>>
> = {
  query: { Invalid: InvalidQuery, TooLarge: QueryTooLarge },
  body: { Invalid: InvalidBody, TooLarge: BodyTooComplex },
}

/** Returns the error for a parameter. */
export function createRefusal(noun: QueryNoun, name: string, reason: string): BadRequest {
  return new PARAMETER_ERRORS[noun].Invalid(`The ${noun} parameter ${quoteName(name)} ${reason}`)
}

/** Returns the error for a name with too many levels. */
export function createDepthRefusal(noun: QueryNoun, depth: number): BadRequest {
  return new PARAMETER_ERRORS[noun].TooLarge(`The ${noun} is nested deeper than ${depth} levels`)
}

/** Returns a name from a request in quotes for an error message, shortened if it is long. */
export function quoteName(name: string): string {
  // Shortening may cut a character in half.
  return name.length <= MAX_LENGTH ? `'${name}'` : `'${name.slice(0, MAX_LENGTH).toWellFormed()}…'`
}

/** Returns whether the percent-encoded bytes of a parameter are UTF-8. If not, they would stay encoded. */
function isUtf8Escaped(parameter: string): boolean {
  if (!parameter.includes('%')) return true
  return (parameter.match(ESCAPES) ?? []).every((bytes) => {
    try {
      decodeURIComponent(bytes)
      return true
    } catch {
      return false
    }
  })
}

/** Returns why a name is not allowed, `null` if it is. */
function toReason(name: string): string | null {
  if (name === '') return 'has no name'
  const open = name.indexOf('[')
  // Other parsers read `a[0].b` as `a[0]`.
  if (open !== -1 && /\][^[]/.test(name.slice(open))) return 'has text after a bracket'
  const inherited = name.split(/[[\]]+/).find((part) => part in Object.prototype)
  return inherited === undefined ? null : `is not allowed: every object has a '${inherited}'`
}

/**
 * Returns why a name does not identify its item of a list, `null` if it does. `$or[][a]=1&$or[][b]=2` would be one
 * item, which turns two alternatives into one that requires both.
 */
function toAmbiguity(
  name: string,
  names: readonly string[],
  values: Readonly<Record<string, readonly string[]>>,
): string | null {
  const [, list = ''] = OPEN_ITEM.exec(name) ?? []
  if (list === '') return null
  const isAlone = names.filter((one) => one.startsWith(list)).length === 1
  if (isAlone && values[name]?.length === 1) return null
  return `does not say where an item ends; write ${quoteName(name.replace('[][', '[0]['))}`
}
