import type { FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import { LogController } from 'fastify'

/** Keys whose values never reach a log, wherever they stand in what is logged. */
const SECRET_KEYS: readonly string[] = [
  ...[
    'password',
    'secret',
    'accessToken',
    'access_token',
    'refreshToken',
    'refresh_token',
    'token',
  ],
  ...['authorization', 'cookie', 'apiKey', 'api_key'],
]

const REDACTED = '[redacted]'
const SECRET_IN_URL = /([?&](?:access_token|token|code|password)=)[^&#\s]*/gi

/** Returns text without the values of query parameters that are secrets. */
export function redactUrl(url: string): string {
  return url.includes('=') ? url.replace(SECRET_IN_URL, `$1${REDACTED}`) : url
}

/** Returns the logging options for a new server: one line a request of ours, and no secrets. */
export function toLoggerOptions(options: FastifyServerOptions): FastifyServerOptions {
  const { logger } = options
  if (logger === undefined || logger === false) return {}
  const given = typeof logger === 'object' ? logger : {}
  const paths = SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`])
  return {
    logController: options.logController ?? new RequestLog(),
    logger: {
      redact: { paths, censor: REDACTED },
      ...given,
      serializers: { req: serializeRequest, err: serializeError, ...given.serializers },
    },
  }
}

/** Logs one line for each answered request: what was called, the status, and how long it took. */
class RequestLog extends LogController {
  override incomingRequest(): void {
    // The line for the answer says it all.
  }

  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
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

interface LoggedError {
  [key: string]: unknown
  type: string
  message: string
  stack: string
}

/** The name, text and stack of an error and of its causes; no property that somebody hung on it. */
function serializeError(error: unknown): LoggedError {
  if (!(error instanceof Error))
    return { type: typeof error, message: redactUrl(String(error)), stack: '' }
  const { name, message, stack = '', cause } = error
  return {
    type: name,
    message: redactUrl(message),
    stack: redactUrl(stack),
    ...(cause === undefined ? {} : { cause: serializeError(cause) }),
  }
}
