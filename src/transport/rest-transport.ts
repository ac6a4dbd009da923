import type { FastifyInstance } from 'fastify'
import type { Logger } from '../core/index.ts'
import { Application } from '../core/index.ts'
import { ErrorAnswers } from './errors/error-handler.ts'
import { createPlainLogger } from './logging/logging.ts'
import type { ParseAuthenticationOptions } from './parse-authentication.ts'
import { toSources } from './parse-authentication.ts'
import type { QueryParser } from './parsing/query-string.ts'
import { createQueryParser } from './parsing/query-string.ts'
import type { RestOptions } from './rest-options.ts'
import { LoginPaths } from './routing/login-paths.ts'
import { getRouting } from './routing/request-path.ts'
import { ServiceRouter } from './routing/service-router.ts'
import { TimeLimit } from './time-limit.ts'

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
  readonly timeLimit: TimeLimit | null
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
