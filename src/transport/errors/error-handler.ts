import { readFile } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorJSON, Logger, ServiceError } from '../../core/index.ts'
import { toExternalForm, toServiceError } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { redactData, redactErrors } from '../logging/redact.ts'
import { prefersHtml } from '../replies/accept.ts'
import { sendErrorBody } from '../replies/body.ts'
import { addVary, setErrorCode } from '../replies/headers.ts'
import { watchSend } from '../replies/reply-state.ts'
import { DEFAULT_ROUTING, toPath } from '../routing/request-path.ts'
import type { ErrorLogger } from './error-log.ts'
import { ErrorLog, isErrorLogger } from './error-log.ts'
import { renderErrorPage, sendPage } from './error-page.ts'

/**
 * Responds to an error. It sends with `reply`, now or later, or returns the body or a promise of it. It sets the
 * content type itself, and the status if that of the error is not right.
 */
export type ErrorResponder = (
  error: ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
) => unknown

/** By HTTP status or `default`: a function, or for HTML also the path of a file. */
export type ErrorResponders<T> = Readonly<Record<number | string, T>>

/** Options of `errorHandler()`. */
export interface ErrorHandlerOptions {
  /** The responses to browsers; `false` sends JSON to them too. Default: a plain page. */
  readonly html?: ErrorResponder | ErrorResponders<ErrorResponder | string> | false
  /** The responses to programs. Default: the JSON of the error. */
  readonly json?: ErrorResponder | ErrorResponders<ErrorResponder>
  /**
   * Called for errors with a status of 500 or above, as `error(error)` or as a function; `false` logs none. Default:
   * the logger of the request, which also gets the service and the method.
   */
  readonly logger?: ErrorLogger | false
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
    expected: 'false, a function (error), or an object with error()',
    isValid: (value) => value === false || isErrorLogger(value),
  },
}

const RETRY_AFTER_SECONDS = 1

/** Responds to errors, with JSON or a page, and logs those that are the server's fault. */
export class ErrorAnswers {
  readonly #html: Exclude<ErrorHandlerOptions['html'], undefined>
  readonly #json: Exclude<ErrorHandlerOptions['json'], undefined>
  readonly #log: ErrorLog
  readonly #hasPrefix: boolean

  /** @param logger replaces the logger of each request */
  constructor(options: ErrorHandlerOptions, logger: Logger | null, prefix: string) {
    this.#html = options.html ?? {}
    this.#json = options.json ?? {}
    this.#hasPrefix = prefix !== ''
    this.#log = new ErrorLog(options.logger, logger)
  }

  /**
   * Responds to an error; with 500 if the response itself fails, for example because a getter of the error throws.
   * @param thrown the value that was converted to the error
   */
  send(error: ServiceError, thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    try {
      this.#log.log(error, thrown, request, reply)
      this.#send(error, request, reply)
    } catch (failure) {
      answerFailure(failure, request, reply)
    }
  }

  /** Logs an error that occurs after the response has started. Returns its body, for the rest of the response. */
  tell(
    error: ServiceError,
    thrown: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): ErrorJSON {
    this.#log.log(error, thrown, request, reply)
    return this.#toBody(error, request, reply)
  }

  /**
   * Sends the body of an error, which contains nothing secret, if neither a page nor a responder is needed. Returns
   * whether it did.
   */
  sendIfPlain(
    body: ErrorJSON,
    errorCode: string | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): boolean {
    if (toResponder(this.#json, body.code) !== undefined) return false
    if (this.#html !== false) {
      if (prefersHtml(request.headers.accept)) return false
      addVary(reply, 'accept')
    }
    setErrorCode(reply, errorCode)
    sendErrorBody(reply.code(body.code), body)
    return true
  }

  #send(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
    const status = error.statusCode
    reply.code(status)
    setRetryAfter(error, reply)
    setErrorCode(reply, error.errorCode)
    const html = this.#html
    // Also on JSON responses, so that a cache does not serve them to a browser that asks for HTML.
    if (html !== false) addVary(reply, 'accept')
    const isPage = html !== false && prefersHtml(request.headers.accept)
    const responder = toResponder<ErrorResponder | string>(isPage ? html : this.#json, status)
    const sendDefault = (): void => {
      if (isPage) this.#sendPage(error, request, reply)
      else this.#sendJSON(error, request, reply)
    }
    if (responder === undefined) sendDefault()
    else if (isPage && typeof responder === 'string') {
      sendFile(responder, request, reply, sendDefault)
    } else run(responder as ErrorResponder, error, request, reply, sendDefault)
  }

  #sendJSON(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
    sendErrorBody(reply, this.#toBody(error, request, reply))
  }

  #toBody(error: ServiceError, request: FastifyRequest, reply: FastifyReply): ErrorJSON {
    return toErrorBody(error, (name, reason) => {
      this.#log.logLost(name, reason, request, reply)
    })
  }

  #sendPage(
    { message, statusCode: status }: ServiceError,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    // Below a prefix, `/` does not belong to this application.
    const hasWayBack = !this.#hasPrefix && toPath(request.originalUrl, DEFAULT_ROUTING) !== '/'
    sendPage(reply, renderErrorPage({ status, message, requestId: request.id, hasWayBack }))
  }
}

/** Returns the responder for a status: one function for all, or an entry of the table. */
function toResponder<T>(
  responders: ErrorResponder | ErrorResponders<T>,
  status: number,
): T | ErrorResponder | undefined {
  return typeof responders === 'function'
    ? responders
    : (responders[status] ?? responders['default'])
}

/**
 * Sets `Retry-After`: from the data of the error, or one second for a 503. Data with a `limit` means that a rate limit
 * is used up.
 */
function setRetryAfter(error: ServiceError, reply: FastifyReply): void {
  const { retryAfter, limit } = (error.data ?? {}) as { retryAfter?: unknown; limit?: unknown }
  if (typeof retryAfter === 'number') {
    const seconds = Math.ceil(retryAfter)
    reply.header('retry-after', seconds)
    if (typeof limit !== 'number' || error.code !== 429) return
    reply.header('ratelimit-limit', limit)
    reply.header('ratelimit-remaining', 0).header('ratelimit-reset', seconds)
  } else if (error.code === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
}

/**
 * Calls a custom responder and sends its result. If it neither sends nor returns anything, sends the default response;
 * if it throws, 500.
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
    // A responder that takes the reply and returns no promise may send later, from a callback.
    if (returned === undefined && respond.length >= 3) return
    const value = await returned
    if (hasSent() || value === reply || value === reply.raw) return
    if (value === undefined) sendDefault()
    else reply.send(value)
  } catch (failure) {
    answerFailure(failure, request, reply)
  }
}

function sendFile(
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
  sendDefault: () => void,
): void {
  readFile(path, 'utf8').then(
    (page) => sendPage(reply, page),
    (failure: unknown) => {
      request.log.error({ err: failure }, `The page for ${reply.statusCode} cannot be read`)
      sendDefault()
    },
  )
}

function answerFailure(failure: unknown, request: FastifyRequest, reply: FastifyReply): void {
  request.log.error({ err: failure }, 'An error responder failed')
  if (reply.sent) return
  const error = toServiceError(null)
  setErrorCode(reply, error.errorCode)
  sendErrorBody(reply.code(500), error.toJSON())
}

/** The parts of an error that may repeat what a request sent, with the functions that remove secrets. */
const TOLD_PARTS = [
  ['data', redactData],
  ['errors', redactErrors],
] as const

/**
 * Returns the body of an error without secrets. Parts that JSON cannot represent, such as a circular reference, are
 * left out: the caller needs the status.
 * @param tellLost called with the name of a part that is left out, and the reason
 */
function toErrorBody(
  error: ServiceError,
  tellLost: (name: string, reason: unknown) => void,
): ErrorJSON {
  const json = error.toJSON()
  if (json.data === undefined && json.errors === undefined) return json
  const body = { ...json }
  for (const [name, redact] of TOLD_PARTS) {
    if (body[name] === undefined) continue
    try {
      body[name] = redact(toExternalForm(body[name]))
    } catch (reason) {
      delete body[name]
      tellLost(name, reason)
    }
  }
  return body
}
