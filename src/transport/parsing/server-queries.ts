import { parse as parseFlat } from 'fast-querystring'
import type { FastifyRequest } from 'fastify'
import type { Query } from '../../core/index.ts'
import type { QueryParser } from './query-string.ts'
import { createQueryParser } from './query-string.ts'

/**
 * The queries of a server of our own: each is parsed once, for `request.query` and for the service.
 * So a hook of Fastify or a plain route sees the query that a service gets.
 */
export class ServerQueries {
  #parse: QueryParser = createQueryParser()
  readonly #refused = new WeakSet<object>()

  /** Sets the parser that the options of `rest()` ask for. */
  use(parse: QueryParser): void {
    this.#parse = parse
  }

  /**
   * Fastify's `querystringParser`, which must not throw: nothing would catch it. A query that services
   * refuse is read without brackets, for plain routes, as Fastify would read it.
   */
  readonly read = (raw: string): Query => {
    try {
      return this.#parse(cutFragment(raw))
    } catch {
      // The service parses it again, and answers what is thrown then.
      const query = parseFlat(raw)
      this.#refused.add(query)
      return query
    }
  }

  /** Returns the query of a request, `null` for one that services refuse. */
  get({ query }: Pick<FastifyRequest, 'query'>): Query | null {
    const isRead = typeof query === 'object' && query !== null && !this.#refused.has(query)
    return isRead ? (query as Query) : null
  }
}

function cutFragment(raw: string): string {
  const hash = raw.indexOf('#')
  return hash === -1 ? raw : raw.slice(0, hash)
}
