import { readFile } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorJSON, Logger } from '../core/index.ts'
import { BadRequest, ServiceError, toErrorClass, toServiceError } from '../core/index.ts'
import { prefersHtml } from './accept.ts'
import { PAGE_SECURITY_POLICY, renderErrorPage } from './error-page.ts'
import { toLoggableError } from './logging.ts'
import { redactData, redactErrors, redactText } from './redact.ts'
import { addVary, sendErrorBody } from './reply.ts'

/** Answers an error by itself: status and content type are its own business. */
export type ErrorResponder = (
  error: ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
) => unknown

/** By HTTP status or `default`: a function, for HTML also the path of a file. */
export type ErrorResponders<T> = Readonly<Record<number | string, T>>

/** Options of `errorHandler()`. */
export interface ErrorHandlerOptions {
  /** How browsers see errors; `false` sends JSON to them too. Default: a plain page. */
  readonly html?: ErrorResponder | ErrorResponders<ErrorResponder | string> | false
  /** How programs see errors. Default: the JSON of the error. */
  readonly json?: ErrorResponder | ErrorResponders<ErrorResponder>
  /** Told of errors from 500 on; `false` for nobody. Default: the logger of the request. */
  readonly logger?: Pick<Logger, 'error'> | false
}

const RETRY_AFTER_SECONDS = 1
const OUTAGE_SILENCE_MS = 10_000
const MAX_OUTAGES = 100

/** Answers errors, as JSON or as a page, and logs those that are the server's fault. */
export class ErrorAnswers {
  readonly #options: ErrorHandlerOptions
  readonly #logger: Pick<Logger, 'error'> | false | null
  /** When each text of an error 503 was logged last. */
  readonly #outages = new Map<string, number>()

  /** @param logger takes the place of the logger of each request */
  constructor(options: ErrorHandlerOptions, logger: Logger | null) {
    this.#options = options
    this.#logger = options.logger ?? logger
  }

  /** Answers an error; what goes wrong with that, in the error itself for example, answers 500. */
  send(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
    try {
      this.#send(error, request, reply)
    } catch (failure) {
      answerFailure(failure, request, reply)
    }
  }

  #send(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
    this.#log(error, request)
    const status = toErrorStatus(error.code)
    reply.code(status)
    setRetryAfter(error, reply)
    const { html = {}, json = {} } = this.#options
    if (html !== false && prefersHtml(request.headers.accept)) {
      addVary(reply, 'accept')
      this.#sendPage(html, status, error, request, reply)
      return
    }
    const respond = typeof json === 'function' ? json : (json[status] ?? json['default'])
    if (respond !== undefined) run(respond, error, request, reply)
    else sendErrorBody(reply, toErrorBody(error))
  }

  #sendPage(
    html: Exclude<ErrorHandlerOptions['html'], false | undefined>,
    status: number,
    error: ServiceError,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const page = typeof html === 'function' ? html : (html[status] ?? html['default'])
    if (typeof page === 'function') {
      run(page, error, request, reply)
      return
    }
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', PAGE_SECURITY_POLICY)
      .header('x-content-type-options', 'nosniff')
    if (page === undefined) reply.send(renderErrorPage(status))
    else sendFile(page, status, request, reply)
  }

  #log(error: ServiceError, request: FastifyRequest): void {
    const logger = this.#logger ?? request.log
    if (logger === false || error.code < 500) return
    if (error.code === 503 && !this.#isNews(error.message)) return
    // The logger of a host may write every property of an error.
    logger.error({ err: toLoggableError(error.cause ?? error) }, redactText(error.message))
  }

  /** In an outage every request fails alike: one entry tells it, the access log has the rest. */
  #isNews(outage: string): boolean {
    const now = performance.now()
    const before = this.#outages.get(outage)
    if (before !== undefined && now - before < OUTAGE_SILENCE_MS) return false
    if (this.#outages.size === MAX_OUTAGES) this.#outages.clear()
    this.#outages.set(outage, now)
    return true
  }
}

/**
 * Returns what is answered to something thrown outside of a service: an error of Fastify or of a
 * plugin keeps its status and text below 500; everything else as services' errors.
 */
export function fromFastifyError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return toServiceError(thrown)
  const { statusCode } = thrown as { statusCode?: unknown }
  const isMeantForClients =
    typeof statusCode === 'number' &&
    ((statusCode >= 400 && statusCode < 500) || statusCode === 503)
  if (!isMeantForClients) return toServiceError(thrown)
  return toStatusError(statusCode, thrown.message, thrown)
}

/** Returns an error with any status; one without a class of its own is a `BadRequest` below 500. */
export function toStatusError(status: number, message: string, cause?: unknown): ServiceError {
  const ErrorOfStatus = toErrorClass(status)
  const isKnown = ErrorOfStatus.code === status
  const ErrorClass = isKnown || status >= 500 ? ErrorOfStatus : BadRequest
  const error = new ErrorClass(message, null, cause === undefined ? {} : { cause })
  return isKnown ? error : Object.assign(error, { code: status })
}

/** Returns the body of an error; it may hold what a request sent, so it is cleared of secrets. */
function toErrorBody(error: ServiceError): ErrorJSON {
  const body = error.toJSON()
  if (body.data !== undefined) body.data = redactData(body.data)
  if (body.errors !== undefined) body.errors = redactErrors(body.errors)
  return body
}

/** Tells when to try again: as the error's data says, and soon when only the server is busy. */
function setRetryAfter(error: ServiceError, reply: FastifyReply): void {
  const { retryAfter } = (error.data ?? {}) as { retryAfter?: unknown }
  if (typeof retryAfter === 'number') reply.header('retry-after', Math.ceil(retryAfter))
  else if (error.code === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
}

/** Returns the code of an error if HTTP knows such a status for errors, else 500. */
export function toErrorStatus(code: number): number {
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : 500
}

/** Calls a responder that users wrote; what it throws is answered by Fastify as any other error. */
function run(
  respond: ErrorResponder,
  error: ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  Promise.resolve()
    .then(() => respond(error, request, reply))
    .catch((failure: unknown) => answerFailure(failure, request, reply))
}

function sendFile(
  path: string,
  status: number,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  readFile(path, 'utf8').then(
    (page) => reply.send(page),
    (failure: unknown) => {
      request.log.error({ err: failure }, `The page for ${status} can not be read`)
      reply.send(renderErrorPage(status))
    },
  )
}

function answerFailure(failure: unknown, request: FastifyRequest, reply: FastifyReply): void {
  request.log.error({ err: failure }, 'An error responder failed')
  if (!reply.sent) sendErrorBody(reply.code(500), toServiceError(null).toJSON())
}
