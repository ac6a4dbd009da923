import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../core/index.ts'
import { Application } from '../core/index.ts'
import type { ErrorHandlerOptions } from './errors/error-handler.ts'
import { ErrorAnswers } from './errors/error-handler.ts'
import type { NotFoundOptions } from './errors/not-found.ts'
import { createPlainLogger } from './logging/logging.ts'
import type { ParseAuthenticationOptions } from './parse-authentication.ts'
import { toSources } from './parse-authentication.ts'
import type { FormOptions } from './parsing/form-body.ts'
import type { JsonOptions } from './parsing/json-body.ts'
import type { QueryOptions, QueryParser } from './parsing/query-string.ts'
import { createQueryParser } from './parsing/query-string.ts'
import { LoginPaths } from './routing/login-paths.ts'
import { getRouting } from './routing/request-path.ts'
import { ServiceRouter } from './routing/service-router.ts'
import type { RestCall } from './service-handler.ts'
import { TimeLimit } from './time-limit.ts'

/** Writes the answer of a call: it reads `reply.data`, may read `reply.hook`, and sends or returns it. */
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
  /**
   * Where to find out who calls, `false` for nowhere; `parseAuthentication()` adds to it. Default:
   * the default authentication service.
   */
  readonly authentication?:
    | ParseAuthenticationOptions
    | readonly ParseAuthenticationOptions[]
    | false
  /** How paths are answered that nothing is served at. */
  readonly notFound?: NotFoundOptions
  /**
   * Longest time for a call, in milliseconds, until it is answered with 503; 0 for no limit.
   * Default: 30,000 on a server of our own, 0 in the plugin.
   */
  readonly handlerTimeoutMs?: number
  /**
   * Whether `/health/live` and `/health/ready` are served. Default: true on a server of our own; in
   * the plugin false, and true serves them below its prefix.
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
  /** The services that are asked who calls, in this order. */
  readonly authentication: readonly ParseAuthenticationOptions[]
  /** Whether links may carry a token. */
  readonly acceptsQueryToken: boolean
  readonly router: ServiceRouter
  readonly loginPaths: LoginPaths
  readonly errors: ErrorAnswers
  /** The logger of the server; where that is off, the one of the application. */
  readonly logger: Logger
  /** Watches the calls, `null` where there is no limit. */
  readonly timeLimit: TimeLimit<RestCall> | null
  /** Services came or went after the start: Fastify's own routes no longer tell the whole truth. */
  isDynamic = false
  /** The server is closing: what is in flight is answered, what comes now is not. */
  isClosing = false

  /** @throws {TypeError} there is no application, or an option is not what it has to be */
  constructor(
    app: Application,
    scope: FastifyInstance,
    options: RestOptions & { readonly leavesNotFound: boolean },
  ) {
    if (!(app instanceof Application)) {
      throw new TypeError("The option 'app' must be an application made by createApp()")
    }
    if (options.formatter != null && typeof options.formatter !== 'function') {
      throw new TypeError('The formatter must be a function (request, reply)')
    }
    this.app = app
    this.prefix = scope.prefix
    this.options = options
    this.leavesNotFound = options.leavesNotFound
    this.parseQuery = createQueryParser(options.query)
    this.authentication = toSources(options.authentication)
    this.acceptsQueryToken = this.authentication.some(({ queryToken }) => queryToken === true)
    this.timeLimit = createTimeLimit(options.handlerTimeoutMs ?? 0)
    this.router = new ServiceRouter(app, { prefix: scope.prefix, ...getRouting(scope) })
    this.loginPaths = new LoginPaths(app, scope)
    const isLogging = scope.log.level !== undefined
    this.logger = isLogging ? scope.log : createPlainLogger(app)
    this.errors = new ErrorAnswers(options.errorHandler ?? {}, isLogging ? null : this.logger)
  }
}

/** @throws {TypeError} the limit is no time */
function createTimeLimit(limitMs: number): TimeLimit<RestCall> | null {
  if (typeof limitMs !== 'number' || !(limitMs >= 0)) {
    throw new TypeError('handlerTimeoutMs must be a number of milliseconds, 0 for no limit')
  }
  const isLimited = limitMs > 0 && limitMs < Number.POSITIVE_INFINITY
  return isLimited ? new TimeLimit(limitMs, (call) => call.timeOut(limitMs)) : null
}
