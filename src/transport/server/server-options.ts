import type { ServerOptions as HttpOptions } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { ServerOptions as HttpsOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import { InvalidRequest } from '../../core/errors/coded-errors.ts'
import { OptionError } from '../../core/errors/setup-errors.ts'
import type { Logger } from '../../core/index.ts'
import { suggestName } from '../../core/options/name-suggestion.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { ErrorAnswers } from '../errors/error-handler.ts'
import { fromFastifyError, toStatusError } from '../errors/fastify-error.ts'
import { toLoggerOptions } from '../logging/logger.ts'
import { keepQuery } from '../parsing/server-queries.ts'
import { isUnread } from '../parsing/unread-body.ts'
import { setPrivate } from '../replies/headers.ts'
import { REST_RULES } from '../rest-options.ts'
import {
  isPathTarget,
  isServerTarget,
  MALFORMED_TARGET,
  MAX_PARAM_LENGTH,
} from '../routing/request-path.ts'
import type { WithServer } from './server-setup.ts'
import { getAnswer } from './server-sockets.ts'
import { isSlowBody } from './slow-bodies.ts'

/** Limits of a server made by `fastifyApp()`, all in milliseconds or bytes. */
interface ServerLimits {
  /** Longest time for a whole request to arrive. Default: 30,000. */
  readonly requestTimeout?: number
  /** Longest time for the headers to arrive; at most `requestTimeout`. Default: 10,000. */
  readonly headersTimeout?: number
  /** How often both are checked. Default: 2,000. */
  readonly connectionsCheckingInterval?: number
  /** How long an idle connection is kept. Default: 72,000. */
  readonly keepAliveTimeout?: number
  /** Largest body. Default: 1 MiB. */
  readonly bodyLimit?: number
}

/** Options for a new server: those of Fastify, with `headersTimeout` and its other limits next to them. */
export type ServerOptions = FastifyServerOptions &
  ServerLimits & {
    /** Options of a plain server. */
    readonly http?: HttpOptions | null
    /** Key and certificate: makes the server one for HTTPS. */
    readonly https?: HttpsOptions | null
  }

const LIMIT_DEFAULTS: Required<ServerLimits> = Object.freeze({
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 72_000,
  bodyLimit: 1_048_576,
})

const LIMIT_RULES: Readonly<Record<keyof ServerLimits, OptionRule>> = {
  requestTimeout: OPTION.limit,
  headersTimeout: OPTION.limit,
  connectionsCheckingInterval: OPTION.limit,
  keepAliveTimeout: OPTION.limit,
  bodyLimit: OPTION.bodyLimit,
}

/**
 * Returns the options for Fastify, with safe limits as defaults.
 * @throws {TypeError} limits contradict each other, or a proxy is trusted by a number of hops
 */
export function toServerOptions(
  options: ServerOptions,
  app: { readonly logger: Logger } & Partial<Pick<WithServer, 'serverSetup'>>,
): FastifyServerOptions {
  checkNames(options)
  const { headersTimeout, connectionsCheckingInterval, ...limits } = resolveLimits(options)
  if (typeof options.trustProxy === 'number') {
    throw new OptionError('trustProxy must name the proxies: a number of hops can be forged')
  }
  const http = {
    ...options.http,
    headersTimeout,
    // Node rejects a longer `headersTimeout` when it creates the server, before Fastify sets this limit.
    requestTimeout: limits.requestTimeout,
    connectionsCheckingInterval,
    // The request guard checks this and responds with a body.
    requireHostHeader: false,
    // Set explicitly, since a flag of the process may allow it.
    insecureHTTPParser: false,
  }
  const { https, maxParamLength = MAX_PARAM_LENGTH, ...others } = options
  return {
    ...others,
    ...limits,
    ...(https == null
      ? { http }
      : { https: { handshakeTimeout: headersTimeout, ...https, ...http } }),
    ...toLoggerOptions(options, app),
    return503OnClosing: false,
    routerOptions: withDefaults(
      { maxParamLength, ...(hasQueryParser(options) ? {} : { querystringParser: keepQuery }) },
      options.routerOptions ?? {},
    ),
    frameworkErrors: options.frameworkErrors ?? createFrameworkErrors(app),
    clientErrorHandler: options.clientErrorHandler ?? answerSocketError,
  } as FastifyServerOptions
}

/** Returns whether the user has chosen how the server parses queries. */
export function hasQueryParser(options: FastifyServerOptions): boolean {
  const { querystringParser, routerOptions } = options
  return querystringParser != null || routerOptions?.querystringParser != null
}

/** Rejects misspelled options of Remex: Fastify checks only its own, and would ignore these. */
function checkNames(options: object): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(REST_RULES, name)) {
      throw new OptionError(`fastifyApp(): '${name}' is an option of rest()`)
    }
    if (OWN_NAMES.includes(name)) continue
    const meant = OWN_NAMES.find((own) => toStem(own) === toStem(name)) ?? name
    const hint = suggestName(meant, OWN_NAMES)
    if (hint !== '') throw new OptionError(`fastifyApp(): unknown option '${name}'${hint}`)
  }
}

const OWN_NAMES: readonly string[] = [
  ...Object.keys(LIMIT_DEFAULTS),
  ...['closeDelayMs', 'closeTimeoutMs', 'writeTimeoutMs', 'http', 'https', 'http2'],
]

/** Returns a name without its unit, in lower case. */
function toStem(name: string): string {
  return name.toLowerCase().replace(/(?:ms|millis|seconds|bytes)$/, '')
}

function resolveLimits(options: ServerOptions): Required<ServerLimits> {
  const all: Record<string, unknown> = { ...options.https, ...options.http, ...options }
  if (all['insecureHTTPParser'] !== undefined) {
    throw new OptionError('insecureHTTPParser is not allowed: what it lets through can be misread')
  }
  const given = Object.fromEntries(Object.keys(LIMIT_DEFAULTS).map((name) => [name, all[name]]))
  checkOptions('fastifyApp()', given, LIMIT_RULES)
  const limits = withDefaults<Required<ServerLimits>>(LIMIT_DEFAULTS, given)
  const { headersTimeout, requestTimeout } = limits
  if (headersTimeout > 0 && headersTimeout <= requestTimeout) return limits
  throw new OptionError(
    `headersTimeout (${headersTimeout}) must be more than 0 and at most requestTimeout ` +
      `(${requestTimeout}): Node cuts off no slow request otherwise`,
  )
}

/** Returns the handler for requests that reach no route, for example because their URL cannot be decoded. */
function createFrameworkErrors(
  app: Partial<Pick<WithServer, 'serverSetup'>>,
): (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void {
  return (error, request, reply) => {
    const answers = new ErrorAnswers(app.serverSetup?.restOptions.errorHandler ?? {}, null, '')
    // The path is unreadable, so it may be that of a login.
    setPrivate(reply)
    // Since find-my-way 9.10.2, the router rejects such targets before the guard of requests sees them.
    const { method, url } = request.raw
    const isTarget = isPathTarget(url) || isServerTarget(method, url)
    const answer = isTarget ? fromFastifyError(error) : new InvalidRequest(MALFORMED_TARGET)
    answers.send(answer, error, request, reply)
    request.log.info({ req: request, statusCode: reply.statusCode }, 'request')
  }
}

const SOCKET_STATUS: ReadonlyMap<string | undefined, readonly [status: number, text: string]> =
  new Map([
    ['HPE_HEADER_OVERFLOW', [431, 'The headers are too large']],
    ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'The request took too long to arrive']],
    ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'The chunk extensions are too large']],
  ])

/** Responds to bytes that are not an HTTP request, unless another response has started, and closes the connection. */
function answerSocketError(error: { code?: string }, socket: Socket): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isSlowBody(socket)) return
  // Its response was sent: a second one would be read as the response to a later request.
  if (isUnread(socket)) {
    socket.destroy()
    return
  }
  if (socket.writable && error.code !== 'ECONNRESET' && getAnswer(socket)?.headersSent !== true) {
    const known = SOCKET_STATUS.get(error.code)
    const [status, text] = known ?? [400, 'The request is malformed']
    const body = JSON.stringify(toStatusError(status, text).toJSON())
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n` +
        'Content-Type: application/json; charset=utf-8\r\n' +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}
