import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import { BadRequest } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { QueryOptions, QueryParser } from './query-string.ts'
import { createQueryParser, QUERY_RULES } from './query-string.ts'

/** Limits of URL-encoded bodies: those of query strings, but for their length. */
export interface FormOptions extends Omit<QueryOptions, 'maxLength'> {
  /** Largest body, in bytes; a larger one answers 413. Default: that of the server, 1 MiB. */
  readonly bodyLimit?: number
}

const { maxLength: _, ...SHARED_RULES } = QUERY_RULES

export const FORM_RULES: Readonly<Record<keyof FormOptions, OptionRule>> = {
  ...SHARED_RULES,
  bodyLimit: OPTION.bodyLimit,
}

/**
 * Adds the parser for `application/x-www-form-urlencoded` to a scope; brackets nest as in queries.
 * An empty body is an empty object.
 * @param query a parser of one's own for queries reads these bodies too, with limits of its own
 */
export function addFormParser(
  scope: FastifyInstance,
  options: FormOptions = {},
  query: QueryOptions | QueryParser = {},
): void {
  checkOptions('urlencoded()', options, FORM_RULES)
  const { bodyLimit, ...limits } = options
  const isOwn = typeof query === 'function'
  const maxLength = Number.POSITIVE_INFINITY
  const parse = createQueryParser(isOwn ? query : { ...limits, maxLength }, 'body')
  scope.register(formbody, {
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    parser: (text) => {
      if (text === '') return {}
      checkText(text)
      return parse(text)
    },
  })
}

/**
 * Invalid UTF-8 has become U+FFFD by now. A client that means that character has to
 * percent-encode it.
 */
function checkText(text: string): void {
  if (!text.includes('\ufffd')) return
  throw new BadRequest('The body is not valid UTF-8, or holds a U+FFFD that is not percent-encoded')
}
