import { createRequire } from 'node:module'
import type { IParseOptions, parse } from 'qs'
import type { Query } from '../../core/index.ts'
import { BadRequest } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { decodeParameter } from '../routing/request-path.ts'
import type { QueryNoun } from './lost-parameter.ts'
import { checkName, checkParameters } from './lost-parameter.ts'
import { createNestedParser } from './nested-query.ts'

const require = createRequire(import.meta.url)

/** Limits of query strings; each one that is exceeded answers 400 and is named there. */
export interface QueryOptions {
  /** Longest raw query, in bytes. Default: 12,288. */
  readonly maxLength?: number
  /** Most parameters in one query. Default: 1,000. */
  readonly parameterLimit?: number
  /** Deepest nesting in brackets. Default: 10. */
  readonly depth?: number
  /**
   * Longest array. A longer one becomes an object with the indexes as keys, which is read as a list
   * again where a list is meant (`$in`, `$or`, `$select`, …). Default: 20.
   */
  readonly arrayLimit?: number
}

/**
 * A parser of one's own: the raw query without `?` in, an object out; may throw, which answers 400.
 */
export type QueryParser = (rawQuery: string) => Query

const QUERY_DEFAULTS: Required<QueryOptions> = Object.freeze({
  maxLength: 12_288,
  parameterLimit: 1_000,
  depth: 10,
  arrayLimit: 20,
})

export const QUERY_RULES: Readonly<Record<keyof QueryOptions, OptionRule>> = {
  maxLength: OPTION.limit,
  parameterLimit: OPTION.limit,
  depth: OPTION.limit,
  arrayLimit: OPTION.limit,
}

/**
 * Returns the parser for query strings and URL-encoded bodies. It reads what `qs` reads: brackets
 * nest, repeated names become arrays, every leaf is a string. What qs would leave out is refused.
 * @param noun what is parsed, for the errors
 * @throws {TypeError} a limit that is no number from 0 on
 */
export function createQueryParser(
  options: QueryOptions | QueryParser = {},
  noun: QueryNoun = 'query',
): QueryParser {
  if (typeof options === 'function') return (raw) => callParser(options, raw, noun)
  checkOptions(noun, options, QUERY_RULES)
  const limits = withDefaults(QUERY_DEFAULTS, options)
  const parseNested = createNestedParser(limits)
  const qsOptions = {
    depth: limits.depth,
    strictDepth: true,
    arrayLimit: limits.arrayLimit,
    // Parameters are counted before: qs would drop those beyond its limit, or refuse long arrays as
    // well.
    parameterLimit: Number.POSITIVE_INFINITY,
  } satisfies IParseOptions
  const parseByQs: QueryParser = (raw) => {
    const parseAny = loadParser()
    try {
      return parseAny(raw, qsOptions) as Query
    } catch (error) {
      throw new BadRequest(`The ${noun} is nested deeper than ${limits.depth} levels`, null, {
        cause: error,
      })
    }
  }
  return (raw) => {
    if (raw === '') return {}
    checkLength(raw, limits, noun)
    const usual = hasBracket(raw) ? parseNested(raw) : parseFlat(raw, limits.arrayLimit, noun)
    if (usual !== null) return usual
    const query = parseByQs(raw)
    checkParameters(raw, query, parseByQs, noun)
    return query
  }
}

/** Loaded once for the whole process, as every module is. */
let qsParse: typeof parse | undefined

/**
 * Returns the parser of qs: its fifty modules are a tenth of a server's start, and many never
 * need it.
 */
function loadParser(): typeof parse {
  qsParse ??= (require('qs') as typeof import('qs')).parse
  return qsParse
}

/**
 * Returns the part of a URL after its first `?`, without it; `''` when there is none.
 * @param delimiter what begins a query: `;` as well on a server that is told so
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
    throw new BadRequest(`The ${noun} can not be parsed`, null, { cause: error })
  }
  if (typeof query !== 'object' || query === null) {
    throw new BadRequest(`The ${noun} can not be parsed`)
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

/** Closing brackets count too: qs ends a name at `]=`. */
function hasBracket(raw: string): boolean {
  return raw.includes('[') || raw.includes(']') || (raw.includes('%') && /%5[bd]/i.test(raw))
}

/**
 * Parses a query without brackets, about ten times faster than qs does. Returns `null` when a name
 * is repeated more often than arrays may be long: that is left to qs.
 */
function parseFlat(raw: string, arrayLimit: number, noun: QueryNoun): Query | null {
  const query: Query = {}
  for (const parameter of raw.split('&')) {
    if (parameter === '') continue
    const equals = parameter.indexOf('=')
    const name = decodeParameter(equals === -1 ? parameter : parameter.slice(0, equals))
    // A name of Object.prototype is refused: qs would drop it.
    checkName(name, noun)
    const value = equals === -1 ? '' : decodeParameter(parameter.slice(equals + 1))
    const others = query[name]
    if (others === undefined) query[name] = value
    else if (toLength(others) >= arrayLimit) return null
    else if (Array.isArray(others)) others.push(value)
    else query[name] = [others, value]
  }
  return query
}

function toLength(values: unknown): number {
  return Array.isArray(values) ? values.length : 1
}
