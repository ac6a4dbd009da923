import type { FastifyInstance } from 'fastify'
import type { Logger } from '../core/index.ts'
import { Application } from '../core/index.ts'
import { TimeLimit } from './call-time-limit.ts'
import { ErrorAnswers } from './errors/error-handler.ts'
import { createPlainLogger } from './logging/plain-logger.ts'
import type { ParseAuthenticationOptions } from './parse-authentication.ts'
import { toSources } from './parse-authentication.ts'
import type { QueryParser } from './parsing/query-string.ts'
import { createQueryParser } from './parsing/query-string.ts'
import type { RestOptions } from './rest-options.ts'
import { LoginPaths } from './routing/login-paths.ts'
import { getRouting } from './routing/request-path.ts'
import { ServiceRouter } from './routing/service-router.ts'

/**
 * What requests need to be answered by the services of an application in one Fastify scope,
 * created once.
 */
export class RestTransport {
  readonly app: Application
  /** The prefix of the scope, `''` for none. */
  readonly prefix: string
  readonly options: RestOptions
  /** Whether paths that nothing is served at are left to the server. */
  readonly leavesNotFound: boolean
  readonly parseQuery: QueryParser
  /** The authentication services that read the credentials of requests, in this order. */
  readonly authentication: readonly ParseAuthenticationOptions[]
  /** Whether links may carry a token. */
  readonly acceptsQueryToken: boolean
  readonly router: ServiceRouter
  readonly loginPaths: LoginPaths
  readonly errors: ErrorAnswers
  /** The logger of the server, or that of the application where the server logs nothing. */
  readonly logger: Logger
  /** The time limit of calls, `null` for none. */
  readonly timeLimit: TimeLimit | null
  /**
   * Whether services came or went after the start, so that Fastify's routes no longer match them.
   */
  isDynamic = false
  /** Whether the server is closing: requests in flight are answered, new ones are not. */
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

function createTimeLimit(limitMs: number): TimeLimit | null {
  const isLimited = limitMs > 0 && limitMs < Number.POSITIVE_INFINITY
  return isLimited ? new TimeLimit(limitMs) : null
}
