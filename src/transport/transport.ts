import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Application, Logger } from '../core/index.ts'
import type { ErrorHandlerOptions } from './error-handler.ts'
import { ErrorAnswers } from './error-handler.ts'
import type { FormOptions } from './form-body.ts'
import type { JsonOptions } from './json-body.ts'
import type { NotFoundOptions } from './not-found.ts'
import type { QueryOptions, QueryParser } from './query-string.ts'
import { createQueryParser } from './query-string.ts'
import { ServiceRouter } from './service-router.ts'

/** Writes the answer of a call: it reads `reply.data`, may read `reply.hook`, and sends. */
export type Formatter = (request: FastifyRequest, reply: FastifyReply) => unknown

/** Options of the REST transport, for the plugin and for `rest()` alike. */
export interface RestOptions {
  /** Limits for query strings, or a parser of one's own. */
  readonly query?: QueryOptions | QueryParser
  /** Limits for JSON bodies. */
  readonly json?: JsonOptions
  /** Limits for URL-encoded bodies. */
  readonly urlencoded?: FormOptions
  /** Writes the answers. Default: JSON. */
  readonly formatter?: Formatter | null
  /** How errors are answered and logged. */
  readonly errorHandler?: ErrorHandlerOptions
  /** How paths are answered that nothing is served at. */
  readonly notFound?: NotFoundOptions
  /**
   * Longest time for a call, in milliseconds, until it is answered with 503; 0 for no limit.
   * Default: 30,000 on a server of our own, 0 in the plugin.
   */
  readonly handlerTimeoutMs?: number
  /**
   * Whether `/health/live` and `/health/ready` are served. Default: true on a server of our own; the
   * plugin leaves them to its host.
   */
  readonly health?: boolean
}

/** One application behind one Fastify scope: what every request needs, made once. */
export class RestTransport {
  readonly app: Application
  /** The prefix of the scope, `''` for none. */
  readonly prefix: string
  readonly options: RestOptions
  /** Whether paths that nothing is served at are left to the server. */
  readonly leavesNotFound: boolean
  readonly parseQuery: QueryParser
  readonly router: ServiceRouter
  readonly errors: ErrorAnswers
  /** Services came or went after the start: Fastify's own routes no longer tell the whole truth. */
  isDynamic = false
  /** The server is closing: what is in flight is answered, what comes now is not. */
  isClosing = false

  constructor(
    app: Application,
    scope: FastifyInstance,
    options: RestOptions & { readonly leavesNotFound: boolean },
  ) {
    this.app = app
    this.prefix = scope.prefix
    this.options = options
    this.leavesNotFound = options.leavesNotFound
    this.parseQuery = createQueryParser(options.query)
    this.router = new ServiceRouter(app)
    this.errors = new ErrorAnswers(options.errorHandler ?? {}, toErrorLogger(app, scope))
  }
}

/** Where a server has its logging off, errors still have to be seen somewhere. */
function toErrorLogger(app: Application, scope: FastifyInstance): Logger | null {
  return scope.log.level === undefined ? app.logger : null
}
