import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import type { QueryOptions } from './query-string.ts'
import { createQueryParser, QUERY_DEFAULTS } from './query-string.ts'

/** Limits of URL-encoded bodies: those of query strings, but for their length. */
export interface FormOptions extends Omit<QueryOptions, 'maxLength'> {
  /** Largest body, in bytes; a larger one answers 413. Default: that of the server, 1 MiB. */
  readonly bodyLimit?: number
}

/** Adds the parser for `application/x-www-form-urlencoded` to a scope; brackets nest as in queries. */
export async function addFormParser(
  scope: FastifyInstance,
  options: FormOptions = {},
): Promise<void> {
  const { bodyLimit, ...limits } = options
  const parser = createQueryParser({
    ...QUERY_DEFAULTS,
    ...limits,
    maxLength: Number.POSITIVE_INFINITY,
  })
  await scope.register(formbody, { parser, ...(bodyLimit === undefined ? {} : { bodyLimit }) })
}
