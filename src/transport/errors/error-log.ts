import type { FastifyReply, FastifyRequest } from 'fastify'
import { Hint } from '../../core/errors/hint.ts'
import type { Logger, ServiceError } from '../../core/index.ts'
import { isProduction } from '../../core/node-env.ts'
import { isPromise } from '../../core/value-kind.ts'
import { copyError, toLoggableError } from '../logging/loggable-error.ts'
import { toCalled } from '../logging/logger.ts'
import { redactText } from '../logging/redact.ts'

/** Receives errors. Each is a copy with its class and status, and without secrets. */
export type ErrorLogger = { error(error: Error): unknown } | ((error: Error) => unknown)

/** Returns whether a value is an {@link ErrorLogger}. */
export function isErrorLogger(value: unknown): value is ErrorLogger {
  return typeof value === 'function' || hasError(value)
}

/** A function may also have `error()`: then it is a logger with several levels. */
function hasError(value: unknown): value is { error(error: Error): unknown } {
  return typeof (value as { error?: unknown } | null)?.error === 'function'
}

function logError(own: ErrorLogger, error: Error): unknown {
  return hasError(own) ? own.error(error) : own(error)
}

/** A logger of an application that may also log warnings. */
interface WarnLogger {
  warn?(text: string): unknown
}

const OUTAGE_SILENCE_MS = 10_000
const MAX_OUTAGES = 100

/** The maximum number of logged hints: names in them may come from requests. */
const MAX_HINTS = 100

/** Logs errors that are the server's fault, and hints for the developer of the application. */
export class ErrorLog {
  readonly #own: ErrorLogger | false | undefined
  readonly #logger: Logger | null
  /** When a 503 was last logged, by its message. */
  readonly #outages = new Map<string, number>()
  /** The hints that were logged. */
  readonly #hints = new Set<string>()

  /**
   * @param own the option of the application, `undefined` for the logger of the server
   * @param logger replaces the logger of each request
   */
  constructor(own: ErrorLogger | false | undefined, logger: Logger | null) {
    this.#own = own
    this.#logger = logger
  }

  /**
   * Logs an error.
   * @param thrown the value that was converted to the error; a logger of the application receives it
   */
  log(error: ServiceError, thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (this.#own === false) return
    if (error.code < 500) {
      this.#logHint(error, request, reply)
      return
    }
    if (error.code === 503 && !this.#isNews(error.message)) return
    const own = this.#own
    if (own !== undefined) this.#tell(request, () => logError(own, copyError(thrown, error)))
    else this.#write(error.cause ?? error, error.message, request, reply, error.errorCode)
  }

  /** Logs that a part of an error is left out of the response. */
  logLost(name: string, reason: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const own = this.#own
    if (own === false) return
    const message = `The ${name} of an error cannot be written as JSON, and was left out`
    if (own === undefined) this.#write(reason, message, request, reply)
    else {
      const error = new Error(message, { cause: toLoggableError(reason) })
      this.#tell(request, () => logError(own, error))
    }
  }

  /** Calls the logger of an application. If it throws or rejects, the response does not change. */
  #tell(request: FastifyRequest, tell: () => unknown): void {
    const fail = (failure: unknown): void => {
      const details = { err: toLoggableError(failure) }
      const logger = this.#logger ?? request.log
      logger.error(details, 'The logger of errorHandler() failed')
    }
    try {
      const told = tell()
      if (isPromise(told)) told.then(undefined, fail)
    } catch (failure) {
      fail(failure)
    }
  }

  #write(
    error: unknown,
    message: string,
    request: FastifyRequest,
    reply: FastifyReply,
    errorCode?: string,
  ): void {
    // The logger of a host may write every property of an error, secrets included.
    const details = { err: toLoggableError(error), errorCode, ...toCalled(request, reply) }
    const logger = this.#logger ?? request.log
    logger.error(details, redactText(message))
  }

  /**
   * Returns whether an outage is new. During one every request fails alike, so each message is logged once in ten
   * seconds.
   */
  #isNews(outage: string): boolean {
    const now = performance.now()
    const before = this.#outages.get(outage)
    if (before !== undefined && now - before < OUTAGE_SILENCE_MS) return false
    if (this.#outages.size === MAX_OUTAGES) this.#outages.clear()
    this.#outages.set(outage, now)
    return true
  }

  /** Logs a hint to the developer about a rejected call, each hint once, and none with `NODE_ENV=production`. */
  #logHint(
    { cause, message, errorCode }: ServiceError,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    if (!(cause instanceof Hint) || isProduction()) return
    const { service, method } = toCalled(request, reply)
    const key = `${service} ${method} ${cause.hint}`
    if (this.#hints.has(key) || this.#hints.size >= MAX_HINTS) return
    this.#hints.add(key)
    const text = redactText(`${message.replace(/\.$/, '')}: ${cause.hint}`)
    // Loggers of applications take a text, like winston, and may have only `error`.
    const called = service === undefined ? '' : `${service} ${method}: `
    const own = this.#own as WarnLogger | undefined
    if (own !== undefined) this.#tell(request, () => own.warn?.(called + text))
    else (this.#logger ?? request.log).warn({ errorCode, service, method }, text)
  }
}
