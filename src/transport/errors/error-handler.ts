import { readFile } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorJSON, Logger } from '../../core/index.ts'
import {
  BadRequest,
  ServiceError,
  toErrorClass,
  toExternalForm,
  toServiceError,
} from '../../core/index.ts'
import type { OptionRule } from '../../core/option-check.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { toLoggableError } from '../logging/logging.ts'
import { redactData, redactErrors, redactText } from '../logging/redact.ts'
import { prefersHtml } from '../replies/accept.ts'
import { sendErrorBody } from '../replies/body.ts'
import { addVary } from '../replies/headers.ts'
import { watchSend } from '../replies/reply-state.ts'
import { PAGE_SECURITY_POLICY, renderErrorPage } from './error-page.ts'

/**
 * Answers an error: it sends by `reply`, now or later, or returns what is to be sent, or a promise of
 * it. Content type and a status other than that of the error are its own business.
 */
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

const isFunctionOrObject = (value: unknown): boolean =>
  typeof value === 'function' || isPlainObject(value)

export const ERROR_HANDLER_RULES: Readonly<Record<keyof ErrorHandlerOptions, OptionRule>> = {
  html: {
    expected: 'false, a function, or an object of functions and paths of files by status',
    isValid: (value) => value === false || isFunctionOrObject(value),
  },
  json: {
    expected: 'a function, or an object of functions by status',
    isValid: isFunctionOrObject,
  },
  logger: {
    expected: 'false, or an object with error()',
    isValid: (value) =>
      value === false || (isObject(value) && typeof value['error'] === 'function'),
  },
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
    const status = error.statusCode
    reply.code(status)
    setRetryAfter(error, reply)
    const { html = {}, json = {} } = this.#options
    // Also on JSON: a cache must not hand it to a browser.
    if (html !== false) addVary(reply, 'accept')
    if (html !== false && prefersHtml(request.headers.accept)) {
      this.#sendPage(html, status, error, request, reply)
      return
    }
    const sendJSON = (): void => sendErrorBody(reply, toErrorBody(error))
    const respond = typeof json === 'function' ? json : (json[status] ?? json['default'])
    if (respond === undefined) sendJSON()
    else run(respond, error, request, reply, sendJSON)
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
      run(page, error, request, reply, () => sendPage(reply, renderErrorPage(status)))
    } else if (page === undefined) sendPage(reply, renderErrorPage(status))
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
  if (body.data !== undefined) body.data = redactData(toExternalForm(body.data))
  if (body.errors !== undefined) body.errors = redactErrors(toExternalForm(body.errors))
  return body
}

/** Tells when to try again: as the error's data says, and soon when only the server is busy. */
function setRetryAfter(error: ServiceError, reply: FastifyReply): void {
  const { retryAfter } = (error.data ?? {}) as { retryAfter?: unknown }
  if (typeof retryAfter === 'number') reply.header('retry-after', Math.ceil(retryAfter))
  else if (error.code === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
}

/**
 * Calls a responder that users wrote and sends what it returns, or, where it can't send any more, the
 * answer that there would be without it. What it throws is answered by 500.
 */
async function run(
  respond: ErrorResponder,
  error: ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
  sendDefault: () => void,
): Promise<void> {
  const hasSent = watchSend(reply)
  try {
    const returned = respond(error, request, reply)
    // It has got the reply and has no promise to keep: it may send later.
    if (returned === undefined && respond.length >= 3) return
    const value = await returned
    if (hasSent() || value === reply || value === reply.raw) return
    if (value === undefined) sendDefault()
    else reply.send(value)
  } catch (failure) {
    answerFailure(failure, request, reply)
  }
}

function sendPage(reply: FastifyReply, page: string): void {
  reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', PAGE_SECURITY_POLICY)
    .header('x-content-type-options', 'nosniff')
    .send(page)
}

function sendFile(
  path: string,
  status: number,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  readFile(path, 'utf8').then(
    (page) => sendPage(reply, page),
    (failure: unknown) => {
      request.log.error({ err: failure }, `The page for ${status} can not be read`)
      sendPage(reply, renderErrorPage(status))
    },
  )
}

function answerFailure(failure: unknown, request: FastifyRequest, reply: FastifyReply): void {
  request.log.error({ err: failure }, 'An error responder failed')
  if (!reply.sent) sendErrorBody(reply.code(500), toServiceError(null).toJSON())
}
