import { parse as parseFlat } from 'fast-querystring'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Query } from '../../core/index.ts'
import type { QueryParser } from './query-string.ts'
import { toRawQuery } from './query-string.ts'

/** On the requests of a scope that leads to services: their parser. */
const PARSE_QUERY: unique symbol = Symbol('remex.parseQuery')

/** The URL whose query a request holds, read as a service reads it. */
const READ_URL: unique symbol = Symbol('remex.readUrl')

type ReadRequest = FastifyRequest & {
  readonly [PARSE_QUERY]?: QueryParser
  [READ_URL]?: string | undefined
}

/** Has queries of the routes in a scope read as services read them. */
export function serveQueries(scope: FastifyInstance, parse: QueryParser): void {
  scope.decorateRequest(PARSE_QUERY, parse)
}

/**
 * Fastify's `querystringParser` on a server of our own: leaves the query as it is until the route
 * is known. It must not throw, since nothing would catch it.
 */
export function keepQuery(raw: string): Record<string, unknown> {
  return raw as unknown as Record<string, unknown>
}

/**
 * Reads a query that was kept, before any other hook sees the request: by the rules of services
 * where the route leads to one, so that hooks of Fastify see the query that a service gets. Plain
 * routes get what Fastify would give them: brackets would let callers send operators to
 * unsuspecting handlers.
 */
export function readKeptQuery(request: ReadRequest): void {
  const { query: kept, raw, [PARSE_QUERY]: parse } = request
  // The router of 404s reads queries by itself.
  if (typeof kept !== 'string') return
  // After a `#` there is no query, whatever the router takes for one.
  if (parse !== undefined && raw.url?.includes('#') !== true) {
    try {
      request.query = parse(kept)
      request[READ_URL] = raw.url
      return
    } catch {
      // The service reads it again, and answers what is thrown then.
    }
  }
  request.query = kept === '' ? {} : parseFlat(kept)
}

/**
 * Returns what reads the query of a request, with what hooks have made of it. The query is parsed here if the server
 * reads none, services refuse it, a hook has changed the URL, or no route was found.
 * @param delimiter what stands before a query
 */
export function createQueryReader(
  parse: QueryParser,
  delimiter: RegExp,
): (request: FastifyRequest) => Query {
  return ({ query, raw, [READ_URL]: url }: ReadRequest) => {
    const isRead = url !== undefined && url === raw.url
    if (isRead && typeof query === 'object' && query !== null) return query as Query
    return parse(toRawQuery(raw.url ?? '', delimiter))
  }
}
