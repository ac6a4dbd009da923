import type { FastifyReply, FastifyRequest } from 'fastify'
import { LogController } from 'fastify'
import type { Logger } from '../../core/index.ts'
import type { WithLogger } from './plain-logger.ts'
import { createPlainLogger } from './plain-logger.ts'

/** Used where logging is off: a fault after the status was sent would be seen nowhere else. */
export class StreamErrorLog extends LogController {
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
export class RequestLog extends LogController {
  override incomingRequest(): void {
    // The line for the answer names the request as well.
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
      ms: Math.round(reply.elapsedTime * 100) / 100,
    }
    if (error) request.log.error({ ...line, err: error }, 'request')
    else request.log.info(line, 'request')
  }
}

/** Returns which method of which service a request has called, `undefined` for none. */
export function toCalled(request: FastifyRequest, reply: FastifyReply): CalledNames {
  const config = request.routeOptions.config as ServiceRouteConfig | undefined
  return {
    service: reply.hook?.path ?? config?.service,
    method: reply.hook?.method ?? config?.serviceMethod,
  }
}

interface CalledNames {
  readonly service: string | undefined
  readonly method: string | undefined
}

/** What the routes of services carry in their configuration. */
interface ServiceRouteConfig {
  readonly service?: string
  readonly serviceMethod?: string
}
