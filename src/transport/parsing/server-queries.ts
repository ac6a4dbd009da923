import { parse as parseFlat } from 'fast-querystring'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Query } from '../../core/index.ts'
import type { QueryParser } from './query-string.ts'
import { toRawQuery } from './query-string.ts'

/** The parser of the requests in a scope that leads to services. */
const PARSE_QUERY: unique symbol = Symbol('remex.parseQuery')

/** The URL whose query a request has already had parsed, by the rules of services. */
const READ_URL: unique symbol = Symbol('remex.readUrl')

type ReadRequest = FastifyRequest & {
  readonly [PARSE_QUERY]?: QueryParser
  [READ_URL]?: string | undefined
}

/** Makes the routes of a scope parse queries by the rules of services. */
export function serveQueries(scope: FastifyInstance, parse: QueryParser): void {
  scope.decorateRequest(PARSE_QUERY, parse)
}

/**
 * Fastify's `querystringParser` on a server that we create: keeps the raw query until the route is known. It must not
 * throw, since nothing would catch it.
 */
export function keepQuery(raw: string): Record<string, unknown> {
  return raw as unknown as Record<string, unknown>
}

/**
 * Parses a query that was kept, before any other hook sees the request. If the route leads to a service, by the rules
 * of services, so that Fastify hooks see the query that the service gets. Plain routes get what Fastify would give
 * them: with brackets, callers could send operators to unsuspecting handlers.
 */
export function readKeptQuery(request: ReadRequest): void {
  const { query: kept, raw, [PARSE_QUERY]: parse } = request
  // The router of 404s parses queries itself.
  if (typeof kept !== 'string') return
  // After a `#` there is no query, whatever the router takes for one.
  if (parse !== undefined && raw.url?.includes('#') !== true) {
    try {
      request.query = parse(kept)
      request[READ_URL] = raw.url
      return
    } catch {
      // The service parses it again, and responds with that error.
    }
  }
  request.query = kept === '' ? {} : parseFlat(kept)
}

/**
 * Returns a function that reads the query of a request, including changes by hooks. It parses the query itself if the
 * server does not, if services reject it, if a hook has changed the URL, or if no route was found.
 * @param delimiter what precedes a query
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
