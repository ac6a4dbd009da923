import type { FastifyInstance } from 'fastify'
import type { QueryOptions, QueryParser } from './query-string.ts'
import { createQueryParser } from './query-string.ts'
import { addTextParser } from './text-body.ts'

/** Limits of URL-encoded bodies: those of query strings, but for their length. */
export interface FormOptions extends Omit<QueryOptions, 'maxLength'> {
  /** Largest body, in bytes; a larger one answers 413. Default: that of the server, 1 MiB. */
  readonly bodyLimit?: number
}

/**
 * Adds the parser for `application/x-www-form-urlencoded` to a scope; brackets nest as in queries.
 * @param query a parser of one's own for queries reads these bodies too, with limits of its own
 */
export function addFormParser(
  scope: FastifyInstance,
  options: FormOptions = {},
  query: QueryOptions | QueryParser = {},
): void {
  const { bodyLimit, ...limits } = options
  const isOwn = typeof query === 'function'
  const maxLength = Number.POSITIVE_INFINITY
  const parse = createQueryParser(isOwn ? query : { ...limits, maxLength }, 'body')
  addTextParser(scope, 'application/x-www-form-urlencoded', bodyLimit, (_request, text, done) => {
    try {
      done(null, parse(text))
    } catch (error) {
      done(error as Error, undefined)
    }
  })
}
