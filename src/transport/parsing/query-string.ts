import type { Query } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION, withDefaults } from '../../core/options/option-check.ts'
import { parseMergedQuery } from './merged-query.ts'
import { createNestedParser } from './nested-query.ts'
import type { QueryNoun } from './parameters.ts'
import { PARAMETER_ERRORS } from './parameters.ts'

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
 * names become arrays, every leaf is a string. It rejects what `qs` would drop or guess. In a query, `a[$empty]=` is an
 * empty list, which `qs` cannot express. A long list in a body is an error rather than an object with indexes as in a
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
  return (raw) => {
    if (raw === '') return {}
    checkLength(raw, limits, noun)
    return parseNested(raw) ?? parseMergedQuery(raw, { ...limits, noun })
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

function callParser(parser: QueryParser, raw: string, noun: QueryNoun): Query {
  let query: unknown
  try {
    query = parser(raw)
  } catch (error) {
    throw new PARAMETER_ERRORS[noun].Invalid(`The ${noun} cannot be parsed`, null, { cause: error })
  }
  if (typeof query !== 'object' || query === null) {
    throw new PARAMETER_ERRORS[noun].Invalid(`The ${noun} cannot be parsed`)
  }
  return query as Query
}

function checkLength(raw: string, limits: Required<QueryOptions>, noun: QueryNoun): void {
  if (raw.length > limits.maxLength) {
    throw new PARAMETER_ERRORS[noun].TooLarge(
      `The ${noun} is longer than ${limits.maxLength} bytes`,
    )
  }
  let parameters = 1
  let at = raw.indexOf('&')
  while (at !== -1) {
    parameters += 1
    at = raw.indexOf('&', at + 1)
  }
  if (parameters > limits.parameterLimit) {
    throw new PARAMETER_ERRORS[noun].TooLarge(
      `The ${noun} has more than ${limits.parameterLimit} parameters`,
    )
  }
}
