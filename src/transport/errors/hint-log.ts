import type { FastifyReply, FastifyRequest } from 'fastify'
import { Hint, isDeveloping } from '../../core/hint.ts'
import type { Logger, ServiceError } from '../../core/index.ts'
import { redactText } from '../logging/redact.ts'
import { toCalled } from '../logging/request-log.ts'

/** How many hints are logged: names in them may come from requests. */
const MAX_HINTS = 100

/**
 * Logs what the author of an application may write instead of what a caller was refused, each hint
 * once, and none with `NODE_ENV=production`.
 */
export class HintLog {
  readonly #logged = new Set<string>()

  /** @param logger nothing is logged by one without `warn` */
  log(
    { cause, message }: ServiceError,
    request: FastifyRequest,
    reply: FastifyReply,
    logger: Partial<Logger>,
  ): void {
    if (!(cause instanceof Hint) || !isDeveloping()) return
    const { service, method } = toCalled(request, reply)
    const key = `${service} ${method} ${cause.hint}`
    if (this.#logged.has(key) || this.#logged.size >= MAX_HINTS) return
    this.#logged.add(key)
    logger.warn?.({ service, method }, redactText(`${message.replace(/\.$/, '')}: ${cause.hint}`))
  }
}
