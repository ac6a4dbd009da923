import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authenticationServices, isAuthentication } from '../auth/default-authentication.ts'
import { OptionError } from '../core/errors/setup-errors.ts'
import type { Logger, Query } from '../core/index.ts'
import { Application } from '../core/index.ts'
import { TimeLimit } from './call-time-limit.ts'
import { ErrorAnswers } from './errors/error-handler.ts'
import { createPlainLogger } from './logging/logger.ts'
import type { ParseAuthenticationOptions } from './parse-authentication.ts'
import { toSources } from './parse-authentication.ts'
import { createQueryParser } from './parsing/query-string.ts'
import { addQueryVerbs } from './parsing/query-verbs.ts'
import { createQueryReader, serveQueries } from './parsing/server-queries.ts'
import { isGone } from './replies/reply-state.ts'
import type { RestOptions } from './rest-options.ts'
import type { LoginPaths } from './routing/guarded-paths.ts'
import { findLoginPaths } from './routing/guarded-paths.ts'
import type { Routing } from './routing/request-path.ts'
import { getRouting } from './routing/request-path.ts'
import { ServiceRouter } from './routing/service-router.ts'
import { holdFurtherRequests } from './server/pipelined-requests.ts'

/** Internal options of a transport, in addition to those of users. */
export interface ScopeOptions extends RestOptions {
  /** Whether unknown paths are left to the server. */
  readonly leavesNotFound: boolean
  /** Whether the server was created for the application. */
  readonly ownsServer: boolean
}

/** Everything needed to serve an application's services in one Fastify scope. */
export class RestTransport {
  readonly app: Application
  /** The prefix of the scope, `''` for none. */
  readonly prefix: string
  readonly options: ScopeOptions
  /** The authentication services that read the credentials of requests, in this order. */
  readonly authentication: readonly ParseAuthenticationOptions[]
  /** Whether links may carry a token. */
  readonly acceptsQueryToken: boolean
  /** How the server reads paths. */
  readonly routing: Routing
  readonly router: ServiceRouter
  loginPaths: LoginPaths
  /** The authentication services by the key of their settings, always current. */
  readonly logins: ReadonlyMap<string, object>
  readonly errors: ErrorAnswers
  /** The logger of the server, or that of the application if the server logs nothing. */
  readonly logger: Logger
  /** The verbs with which `find` accepts its query as a body. */
  readonly queryVerbs: readonly string[]
  /** The time limit of calls, `null` for none. */
  readonly timeLimit: TimeLimit | null
  /** Whether services were added or removed after the start, so that Fastify's routes no longer match them. */
  isDynamic = false
  /** Whether the server is closing: running requests get their responses, new ones are rejected. */
  isClosing = false
  /** Data that features keep for all calls, each under its own symbol. */
  readonly attachments: Map<symbol, unknown> = new Map()
  /** Called when the server starts to close. */
  readonly closers: (() => void)[] = []
  /** Functions that end the open responses that may be endless. */
  readonly #endless = new Map<FastifyReply['raw'], () => void>()
  /** Returns the query of a request. Throws `BadRequest` if it is unreadable or exceeds a limit. */
  readonly readQuery: (request: FastifyRequest) => Query
  /** Whether an authentication service is named, which must exist. */
  readonly #namesLogin: boolean

  /** @throws {TypeError} there is no application, or an option is invalid */
  constructor(app: Application, scope: FastifyInstance, options: ScopeOptions) {
    if (!(app instanceof Application)) {
      throw new OptionError("The option 'app' must be an application made by createApp()")
    }
    this.app = app
    this.prefix = scope.prefix
    this.options = options
    const parseQuery = createQueryParser(options.query)
    if (options.ownsServer) serveQueries(scope, parseQuery)
    this.authentication = toSources(options.authentication)
    this.#namesLogin = this.authentication.some(({ service }) => service !== undefined)
    this.acceptsQueryToken = this.authentication.some(({ queryToken }) => queryToken === true)
    this.queryVerbs = options.queryBodies === true ? addQueryVerbs(scope) : []
    const { handlerTimeoutMs = 0, methodPaths = false } = options
    const isLimited = handlerTimeoutMs > 0 && Number.isFinite(handlerTimeoutMs)
    this.timeLimit = isLimited ? new TimeLimit(handlerTimeoutMs) : null
    const routing = getRouting(scope)
    this.routing = routing
    const delimiter = routing.useSemicolonDelimiter ? /[?;]/ : /\?/
    this.readQuery = createQueryReader(parseQuery, delimiter)
    this.router = new ServiceRouter(app, { prefix: scope.prefix, methodPaths, ...routing })
    this.loginPaths = findLoginPaths(app, scope)
    this.logins = authenticationServices(app)
    const isLogging = scope.log.level !== undefined
    this.logger = isLogging ? scope.log : createPlainLogger(app)
    const logger = isLogging ? null : this.logger
    this.errors = new ErrorAnswers(options.errorHandler ?? {}, logger, this.prefix)
  }

  /**
   * Ends a response that may be endless as soon as the server closes, because closing waits for it. Until the response
   * has ended, no later request on its connection runs.
   * @param end ends it. Default: it is cut off
   */
  followEndless({ raw, request }: FastifyReply, end: () => void = () => raw.destroy()): void {
    if (this.isClosing) end()
    if (isGone(raw) || raw.writableEnded) return
    holdFurtherRequests(request.raw, raw)
    this.#endless.set(raw, end)
    raw.once('close', () => this.#endless.delete(raw))
  }

  /** Call this when the server starts to close. */
  close(): void {
    this.isClosing = true
    // They end without a last chunk, which tells clients that something is missing.
    for (const end of this.#endless.values()) end()
    for (const close of this.closers) close()
  }

  /** Whether any service authenticates callers. Many applications have none. */
  get hasLogins(): boolean {
    return this.#namesLogin || this.logins.size > 0
  }

  /** Returns whether a service logs users in. Without such services this is a single check. */
  isLogin(service: object | undefined): boolean {
    return service !== undefined && this.logins.size > 0 && isAuthentication(service)
  }
}
