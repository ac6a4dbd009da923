import { parse as parseFlat } from 'fast-querystring'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Query } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import type { QueryParser } from './query-string.ts'
import { createQueryParser } from './query-string.ts'

/** In the `config` of a route that leads to services. */
const LEADS_TO_SERVICES: unique symbol = Symbol('remex.leadsToServices')

/** The URL whose query a request holds, read as a service reads it. */
const READ_URL: unique symbol = Symbol('remex.readUrl')

interface ReadRequest {
  [READ_URL]?: string | undefined
}

/**
 * The queries of a server of our own: each is parsed once, by the rules of services where the route
 * leads to one, so that hooks of Fastify see the query that a service gets. Plain routes get what
 * Fastify would give them: brackets there would let callers send operators to unsuspecting handlers.
 */
export class ServerQueries {
  #parse: QueryParser = createQueryParser()

  /** Has queries of the routes that are added to a scope from now on read by the rules of services. */
  serve(scope: FastifyInstance, parse: QueryParser): void {
    this.#parse = parse
    scope.addHook('onRoute', (route) => {
      const config: object = { ...route.config, [LEADS_TO_SERVICES]: true }
      route.config = config
    })
  }

  /**
   * Fastify's `querystringParser`: leaves the query as it is until the route is known. It must not
   * throw, since nothing would catch it.
   */
  readonly keep = (raw: string): Record<string, unknown> =>
    raw as unknown as Record<string, unknown>

  /** To be called before any other hook sees a request. */
  read(request: FastifyRequest): void {
    const { query: kept, raw } = request
    // The router of 404s reads queries by itself.
    if (typeof kept !== 'string') return
    request.query = kept === '' ? {} : parseFlat(kept)
    // After a `#` there is no query, whatever the router takes for one.
    if (!leadsToServices(request) || raw.url?.includes('#') === true) return
    try {
      request.query = this.#parse(kept)
      ;(request as ReadRequest)[READ_URL] = raw.url
    } catch {
      // The service reads it again, and answers what is thrown then.
    }
  }

  /**
   * Returns the query of a request with what hooks have made of it; `null` if it is still to be read,
   * since services refuse it, a hook has changed the URL, or no route had been found.
   */
  get(request: FastifyRequest & ReadRequest): Query | null {
    const { query, raw, [READ_URL]: url } = request
    return url !== undefined && url === raw.url && isObject(query) ? query : null
  }
}

function leadsToServices({ routeOptions }: FastifyRequest): boolean {
  return (routeOptions.config as { [LEADS_TO_SERVICES]?: boolean })[LEADS_TO_SERVICES] === true
}
