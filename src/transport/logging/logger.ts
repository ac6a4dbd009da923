import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyServerOptions,
  RegisterOptions,
} from 'fastify'
import { LogController } from 'fastify'
import type { Logger } from '../../core/index.ts'
import { serializeError, toLoggableError } from './loggable-error.ts'
import { redactLogged, redactNamed, redactText, redactUrl, SECRET_KEYS } from './redact.ts'

/** Returns the logging options for a new server: one line per request, without secrets. */
export function toLoggerOptions(
  options: FastifyServerOptions,
  app: WithLogger,
): FastifyServerOptions {
  const { logger, loggerInstance } = options
  const logController = options.logController ?? new RequestLog(options)
  if (loggerInstance !== undefined) {
    // The user's list is kept: a second `redact` would replace it.
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

/**
 * Every logged value, including the message, passes through here. Pino gives a formatter only listed keys, and a redact
 * path for each key at each depth would cost more than the rest of a line.
 */
const REDACTION = {
  redact: {
    paths: [...SECRET_KEYS, '*'],
    censor(value: unknown, path: readonly (string | symbol)[]): unknown {
      const key = path.at(-1)
      return typeof key === 'string' ? redactNamed(key, value) : redactLogged(value)
    },
  },
}

type LogMethod = (...values: unknown[]) => void

/** Used if the user has a `redact` list: it covers keys, but messages may quote a URL or a token. */
function redactMessages(this: unknown, values: unknown[], log: LogMethod): void {
  const [details, message] = values
  const error = details instanceof Error ? details : (details as { err?: unknown } | null)?.err
  // Without a message, pino would log that of the error unredacted.
  const implied = message === undefined && error instanceof Error ? [error.message] : []
  log.apply(
    this,
    [...values, ...implied].map((value) => (typeof value === 'string' ? redactText(value) : value)),
  )
}

function serializeRequest(request: FastifyRequest): Record<string, unknown> {
  return { method: request.method, url: redactUrl(request.originalUrl), address: request.ip }
}

const SERIALIZERS = { req: serializeRequest, err: serializeError }

type Serializers = NonNullable<RegisterOptions['logSerializers']>

/** The key of a pino logger's serializers; other loggers have none. */
const PINO_SERIALIZERS = Symbol.for('pino.serializers')

/**
 * Returns the serializers for the services' routes in a host: a request is written as by the host's own serializer,
 * without secrets. A plugin cannot change the logger of its host.
 * @param given those that the plugin is registered with, which are kept
 */
export function toHostSerializers({ log }: FastifyInstance, given: Serializers = {}): Serializers {
  const { req } = (log as { [PINO_SERIALIZERS]?: Partial<Serializers> })[PINO_SERIALIZERS] ?? {}
  if (req === undefined) return given
  // Fastify declares strings, and its own serializer returns an object.
  return { req: (request: unknown) => redactLogged(req(request)) as string, ...given }
}

/** Used if logging is off: a failure after the status was sent would otherwise be invisible. */
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

/** The response header with the code of an error: the keys of its JSON are those of Feathers. */
export const ERROR_CODE = 'error-code'

/** Logs one line per request after its response: what was called, the status, and how long it took. */
class RequestLog extends LogController {
  override incomingRequest(): void {
    // The line for the response includes the request.
  }

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    if (this.isLogDisabled(request)) return
    const line = {
      req: request,
      ...toCalled(request, reply),
      statusCode: reply.statusCode,
      errorCode: reply.getHeader(ERROR_CODE),
      ms: Math.round(reply.elapsedTime * 100) / 100,
    }
    if (error) request.log.error({ ...line, err: error }, 'request')
    else request.log.info(line, 'request')
  }
}

/** Returns the method and service that a request has called, `undefined` if there is none. */
export function toCalled(
  { routeOptions }: FastifyRequest,
  { hook }: FastifyReply,
): Record<'service' | 'method', string | undefined> {
  // The config on routes of services.
  const config = routeOptions.config as { service?: string; serviceMethod?: string } | undefined
  return {
    service: hook?.path ?? config?.service,
    method: hook?.method ?? config?.serviceMethod,
  }
}

/** An application, or any object whose logger may be replaced. */
interface WithLogger {
  readonly logger: Logger
}

/**
 * Returns a logger that writes to the application's current logger. That may print every property of an error, as
 * `console` does, so errors are copied with only name, message, stack and causes.
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
    return [key, isError ? toLoggableError(value) : redactNamed(key, value)]
  })
  return Object.fromEntries(entries)
}
