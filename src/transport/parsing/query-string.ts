import { createRequire } from 'node:module'
import type { IParseOptions, parse } from 'qs'
import type { Query } from '../../core/index.ts'
import { BadRequest } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION, withDefaults } from '../../core/options/option-check.ts'
import { isObject } from '../../core/value-kind.ts'
import { decodeParameter } from '../routing/request-path.ts'
import { createNestedParser, EMPTY_LIST } from './nested-query.ts'

const require = createRequire(import.meta.url)

/** Limits of query strings. Exceeding one returns 400, with an error that names the limit. */
export interface QueryOptions {
  /** Maximum length of the raw query, in bytes. Default: 12,288. */
  readonly maxLength?: number
  /** Maximum number of parameters in one query. Default: 1,000. */
  readonly parameterLimit?: number
  /** Maximum nesting in brackets. Default: 10. */
  readonly depth?: number
  /**
   * Maximum length of an array. A longer one becomes an object with the indexes as keys, which is read as a list again
   * where a list is expected (`$in`, `$or`, `$select`, …). Default: 20.
   */
  readonly arrayLimit?: number
}

/** A custom parser: takes the raw query without `?` and returns an object. If it throws, the response is 400. */
export type QueryParser = (rawQuery: string) => Query

export const QUERY_RULES: Readonly<Record<keyof QueryOptions, OptionRule>> = {
  maxLength: OPTION.limit,
  parameterLimit: OPTION.limit,
  depth: OPTION.limit,
  arrayLimit: OPTION.limit,
}

/**
 * Returns the parser for query strings and URL-encoded bodies. It reads the format of `qs`: brackets nest, repeated
 * names become arrays, every leaf is a string. It rejects what qs would drop or guess. In a query, `a[$empty]=` is an
 * empty list, which qs cannot express. A long list in a body is an error rather than an object with indexes as in a
 * query, since nothing would convert it back to a list.
 * @param noun what is parsed, for the errors
 */
export function createQueryParser(
  options: QueryOptions | QueryParser = {},
  noun: QueryNoun = 'query',
): QueryParser {
  if (typeof options === 'function') return (raw) => callParser(options, raw, noun)
  const parameterLimit = 1_000
  const arrayLimit = noun === 'body' ? (options.parameterLimit ?? parameterLimit) : 20
  const defaults = { maxLength: 12_288, parameterLimit, depth: 10, arrayLimit }
  const limits = withDefaults<Required<QueryOptions>>(defaults, options)
  const parseNested = createNestedParser(limits)
  const qsOptions = {
    depth: limits.depth,
    strictDepth: true,
    arrayLimit: limits.arrayLimit,
    throwOnLimitExceeded: noun === 'body',
    // Counted before: qs would silently drop parameters beyond its limit, or reject long arrays too.
    parameterLimit: Number.POSITIVE_INFINITY,
  } satisfies IParseOptions
  // Loaded on first use: its fifty modules take a tenth of a server's start.
  let parseAny: typeof parse | undefined
  const parseByQs: QueryParser = (raw) => {
    parseAny ??= (require('qs') as typeof import('qs')).parse
    try {
      return parseAny(raw, qsOptions) as Query
    } catch (error) {
      // Only the message of qs tells which of its two limits is exceeded.
      const isList = String(error).includes('Array limit')
      const limit = isList
        ? `has a list of more than ${limits.arrayLimit} items`
        : `is nested deeper than ${limits.depth} levels`
      throw new BadRequest(`The ${noun} ${limit}`, null, { cause: error })
    }
  }
  return (raw) => {
    if (raw === '') return {}
    checkLength(raw, limits, noun)
    const usual = parseNested(raw)
    if (usual !== null) return usual
    const query = parseByQs(raw)
    checkParameters(raw, query, parseByQs, noun)
    if (noun === 'query') readEmptyLists(query)
    return query
  }
}

/**
 * Returns the part of a URL after its first `?`; `''` if there is none.
 * @param delimiter where a query starts: also at `;` on a server with that option
 */
export function toRawQuery(url: string, delimiter: RegExp = /\?/): string {
  const mark = url.search(delimiter)
  if (mark === -1) return ''
  const hash = url.indexOf('#', mark)
  return hash === -1 ? url.slice(mark + 1) : url.slice(mark + 1, hash)
}

function callParser(parser: QueryParser, raw: string, noun: string): Query {
  let query: unknown
  try {
    query = parser(raw)
  } catch (error) {
    throw new BadRequest(`The ${noun} cannot be parsed`, null, { cause: error })
  }
  if (typeof query !== 'object' || query === null) {
    throw new BadRequest(`The ${noun} cannot be parsed`)
  }
  return query as Query
}

function checkLength(raw: string, limits: Required<QueryOptions>, noun: string): void {
  if (raw.length > limits.maxLength) {
    throw new BadRequest(`The ${noun} is longer than ${limits.maxLength} bytes`)
  }
  let parameters = 1
  let at = raw.indexOf('&')
  while (at !== -1) {
    parameters += 1
    at = raw.indexOf('&', at + 1)
  }
  if (parameters > limits.parameterLimit) {
    throw new BadRequest(`The ${noun} has more than ${limits.parameterLimit} parameters`)
  }
}

/** What is parsed, for error messages. */
type QueryNoun = 'query' | 'body'

/** Text after a closing bracket that opens no other bracket, in a raw query; possibly in a value. */
const MAY_BE_CUT = /(?:\]|%5d)(?!\[|%5b|[=&]|$)/i
/** Empty brackets before others, as in `$or[][a]=1`. */
const HAS_OPEN_ITEM = /(?:\[|%5b)(?:\]|%5d)(?:\[|%5b)/i
const OPEN_ITEM = /^(.*?\[)\]\[/
const ESCAPES = /(?:%[0-9a-f]{2})+/gi

/**
 * Rejects a query if the parser has lost a parameter, or if a parameter is ambiguous: a condition that disappears or
 * changes would widen what is read or written. Each parameter must be a leaf of the result, whichever parser is used.
 * @param parse reads a part of the query in the same way as the whole
 * @throws {BadRequest} names the first such parameter
 */
function checkParameters(raw: string, query: Query, parse: QueryParser, noun: QueryNoun): void {
  const parameters = raw.split('&').filter((parameter) => parameter !== '')
  const refuse = (name: string, reason: string): never => {
    throw new BadRequest(`The ${noun} parameter ${quoteName(name)} ${reason}`)
  }
  const invalid = parameters.find((parameter) => !isUtf8Escaped(parameter))
  if (invalid !== undefined) refuse(toName(invalid), 'is not valid UTF-8')
  const isLossless = countLeaves(query) === parameters.length
  if (isLossless && !MAY_BE_CUT.test(raw) && !HAS_OPEN_ITEM.test(raw)) return
  const open = parameters.map((parameter) => parameter.replace(/%5b/gi, '[').replace(/%5d/gi, ']'))
  const names = open.map(toName)
  for (const name of names) {
    const reason = toReason(name) ?? toAmbiguity(name, names)
    if (reason !== null) refuse(name, reason)
  }
  if (!isLossless) refuse(findConflict(open, parse), 'contradicts another one')
}

/** Returns whether the percent-encoded bytes of a parameter are UTF-8. If not, qs would leave them encoded. */
function isUtf8Escaped(parameter: string): boolean {
  return (parameter.match(ESCAPES) ?? []).every((bytes) => {
    try {
      decodeURIComponent(bytes)
      return true
    } catch {
      return false
    }
  })
}

/**
 * Returns why a name does not identify its item of a list, `null` if it does. qs merges `$or[][a]=1&$or[][b]=2` into
 * one item, which turns two alternatives into one that requires both.
 */
function toAmbiguity(name: string, names: readonly string[]): string | null {
  const [, list = ''] = OPEN_ITEM.exec(name) ?? []
  if (list === '' || names.filter((one) => one.startsWith(list)).length === 1) return null
  return `does not say where an item ends; write ${quoteName(name.replace('[][', '[0]['))}`
}

/** Returns why a name is not allowed, `null` if it is. */
function toReason(name: string): string | null {
  if (name === '') return 'has no name'
  if (isCut(name)) return 'has text after a bracket'
  const inherited = name.split(/[[\]]+/).find((part) => part !== '' && part in Object.prototype)
  return inherited === undefined ? null : `is not allowed: every object has a '${inherited}'`
}

/** Returns whether qs drops a part of a name: it reads `a[0].b` as `a[0]`. */
function isCut(name: string): boolean {
  const open = name.indexOf('[')
  return open !== -1 && /\][^[]/.test(name.slice(open))
}

/** Returns the name of a parameter as qs reads it: `]=` ends it before any other equals sign. */
function toName(parameter: string): string {
  const bracket = parameter.indexOf(']=')
  const end = bracket === -1 ? parameter.indexOf('=') : bracket + 1
  return decodeParameter(end === -1 ? parameter : parameter.slice(0, end))
}

/** Counts the values in a parsed query, without recursion, since `depth` may be any number. */
function countLeaves(query: object): number {
  let count = 0
  const left: object[] = [query]
  for (let parent = left.pop(); parent !== undefined; parent = left.pop()) {
    for (const value of Object.values(parent)) {
      if (typeof value === 'string') count += 1
      else if (typeof value === 'object' && value !== null) left.push(value)
    }
  }
  return count
}

/** Replaces the objects that represent empty lists. */
function readEmptyLists(query: Query): void {
  const left: Query[] = [query]
  for (let parent = left.pop(); parent !== undefined; parent = left.pop()) {
    for (const [name, value] of Object.entries(parent)) {
      if (!isObject(value)) continue
      // With other names next to it, it stays an ordinary name, which adapters and schemas reject.
      const isEmptyList = value[EMPTY_LIST] === '' && Object.keys(value).length === 1
      if (isEmptyList) parent[name] = []
      else left.push(value)
    }
  }
}

/** Returns the first name whose parameters contradict each other, as in `a[x]=1&a=`. */
function findConflict(parameters: readonly string[], parse: QueryParser): string {
  const groups = new Map<string, string[]>()
  for (const parameter of parameters) {
    const root = /^\[?([^[\]]*)/.exec(toName(parameter))?.[1] ?? ''
    const group = groups.get(root)
    if (group === undefined) groups.set(root, [parameter])
    else group.push(parameter)
  }
  const hasLoss = ([, group]: [string, string[]]): boolean =>
    countLeaves(parse(group.join('&'))) !== group.length
  return [...groups].find(hasLoss)?.[0] ?? ''
}

const MAX_LENGTH = 50

/** Returns a name from a request in quotes for an error message, shortened if it is long. */
export function quoteName(name: string): string {
  // Shortening may cut a character in half.
  return name.length <= MAX_LENGTH ? `'${name}'` : `'${name.slice(0, MAX_LENGTH).toWellFormed()}…'`
}
