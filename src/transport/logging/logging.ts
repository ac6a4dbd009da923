import type { FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import { LogController } from 'fastify'
import type { Logger } from '../../core/index.ts'
import { REDACTED, redactLogged, redactText, redactUrl } from './redact.ts'
import { isSecretName, SECRET_KEYS } from './secret-name.ts'

/**
 * How many nested causes of an error are logged; deeper ones are left out, which also ends circles.
 */
const MAX_CAUSES = 5

/** Returns the logging options for a new server: one line a request of ours, and no secrets. */
export function toLoggerOptions(
  options: FastifyServerOptions,
  app: WithLogger,
): FastifyServerOptions {
  const { logger, loggerInstance } = options
  const logController = options.logController ?? new RequestLog(options)
  if (loggerInstance !== undefined) {
    // A list of the user is kept: a second `redact` would replace it.
    return { logController, loggerInstance: loggerInstance.child({}, { serializers: SERIALIZERS }) }
  }
  if (logger === undefined || logger === false) {
    return { logController: options.logController ?? new StreamErrorLog(app) }
  }
  const given = typeof logger === 'object' ? logger : {}
  return {
    logController,
    logger: {
      ...(given.redact === undefined ? REDACTION : { hooks: { logMethod: redactMessages } }),
      ...given,
      serializers: { ...SERIALIZERS, ...given.serializers },
    },
  }
}

/** An application, or whatever has a logger that may be replaced. */
interface WithLogger {
  readonly logger: Logger
}

/**
 * Every value that is logged, the message too, passes through here. Pino gives a formatter only the
 * keys that it lists, and a redact path for each key at each depth would cost more than the rest of
 * a line.
 */
const REDACTION = {
  redact: {
    paths: [...SECRET_KEYS, '*'],
    censor(value: unknown, path: readonly (string | symbol)[]): unknown {
      const key = path.at(-1)
      return typeof key === 'string' && isSecretName(key) ? REDACTED : redactLogged(value)
    },
  },
}

type LogMethod = (...values: unknown[]) => void

/**
 * Used where the user has a `redact` list: it covers keys, but messages may quote a URL or a token.
 */
function redactMessages(this: unknown, values: unknown[], log: LogMethod): void {
  const [details, message] = values
  const error = details instanceof Error ? details : (details as { err?: unknown } | null)?.err
  // The logger would take the text of the error for the message.
  const implied = message === undefined && error instanceof Error ? [error.message] : []
  log.apply(
    this,
    [...values, ...implied].map((value) => (typeof value === 'string' ? redactText(value) : value)),
  )
}

/**
 * Returns a logger that writes to the one an application has at the time, which may print every
 * property of an error, as `console` does: errors become copies with name, text, stack and causes.
 */
export function createPlainLogger(app: WithLogger): Logger {
  const createLog =
    (level: keyof Logger): Logger['error'] =>
    (details, message) => {
      const text = message === undefined ? [] : [redactText(message)]
      app.logger[level](toPlainDetails(details), ...text)
    }
  return { error: createLog('error'), warn: createLog('warn'), info: createLog('info') }
}

function toPlainDetails(details: object): object {
  const entries = Object.entries(details).map(([key, value]) => {
    const isError = key === 'err' || value instanceof Error
    if (isError) return [key, toLoggableError(value)]
    return [key, isSecretName(key) ? REDACTED : redactLogged(value)]
  })
  return Object.fromEntries(entries)
}

function toPlainError({ type, message, stack, cause }: LoggedError): Error {
  const options = cause === undefined ? {} : { cause: toPlainError(cause as LoggedError) }
  const error = new Error(message, options)
  for (const [name, value] of Object.entries({ name: type, stack })) {
    Object.defineProperty(error, name, { value, enumerable: false })
  }
  return error
}

/**
 * Returns a copy of an error that any logger may write: without properties added to it, which may
 * be secrets.
 */
export function toLoggableError(error: unknown): Error {
  return toPlainError(serializeError(error))
}

/** Used where logging is off: a fault after the status was sent would be seen nowhere else. */
class StreamErrorLog extends LogController {
  readonly #logger: Logger

  constructor(app: WithLogger) {
    super()
    this.#logger = createPlainLogger(app)
  }

  override streamError(error: Error & { code?: string }): void {
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') return
    this.#logger.error({ err: error }, 'An answer broke off')
  }
}

/** Logs one line for each answered request: what was called, the status, and how long it took. */
class RequestLog extends LogController {
  override incomingRequest(): void {
    // The line for the answer names the request as well.
  }

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    if (this.isLogDisabled(request)) return
    const { service, serviceMethod } = request.routeOptions.config as ServiceRouteConfig
    const line = {
      req: request,
      service: reply.hook?.path ?? service,
      method: reply.hook?.method ?? serviceMethod,
      statusCode: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 100) / 100,
    }
    if (error) request.log.error({ ...line, err: error }, 'request')
    else request.log.info(line, 'request')
  }
}

/** What the routes of services carry in their configuration. */
interface ServiceRouteConfig {
  readonly service?: string
  readonly serviceMethod?: string
}

function serializeRequest(request: FastifyRequest): Record<string, unknown> {
  return { method: request.method, url: redactUrl(request.originalUrl), address: request.ip }
}

const SERIALIZERS = { req: serializeRequest, err: serializeError }

interface LoggedError {
  [key: string]: unknown
  type: string
  message: string
  stack: string
}

/** The name, message and stack of an error and of its causes, without other properties. */
function serializeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: toText(error), stack: '' }
  const { name, message, stack = '', cause } = error
  const hasCause = cause !== undefined && depth < MAX_CAUSES
  return {
    type: toText(name),
    message: toText(message),
    stack: toText(stack),
    ...(hasCause ? { cause: serializeError(cause, depth + 1) } : {}),
  }
}

/** Anything can be thrown, even an object whose conversion to a string throws. */
function toText(value: unknown): string {
  const isObject = typeof value === 'object' && value !== null
  return redactText(isObject ? Object.prototype.toString.call(value) : String(value))
}
