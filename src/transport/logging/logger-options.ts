import type { FastifyRequest, FastifyServerOptions } from 'fastify'
import { serializeError } from './loggable-error.ts'
import type { WithLogger } from './plain-logger.ts'
import { REDACTED, redactLogged, redactText, redactUrl } from './redact.ts'
import { RequestLog, StreamErrorLog } from './request-log.ts'
import { isSecretName, SECRET_KEYS } from './secret-name.ts'

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
  // Without a message pino would log that of the error as it stands.
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
