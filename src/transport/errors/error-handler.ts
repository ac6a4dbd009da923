import { readFile } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorJSON, Logger, ServiceError } from '../../core/index.ts'
import { toExternalForm, toServiceError } from '../../core/index.ts'
import type { OptionRule } from '../../core/options/option-check.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { redactData, redactErrors } from '../logging/redact.ts'
import { prefersHtml } from '../replies/accept.ts'
import { sendErrorBody } from '../replies/body.ts'
import { addVary } from '../replies/headers.ts'
import { watchSend } from '../replies/reply-state.ts'
import { DEFAULT_ROUTING, toPath } from '../routing/request-path.ts'
import type { ErrorLogger } from './error-log.ts'
import { ErrorLog, isErrorLogger } from './error-log.ts'
import { renderErrorPage, sendPage } from './error-page.ts'

/**
 * Answers an error. It sends by `reply`, now or later, or returns the body or a promise of it. It
 * sets the content type itself, and the status where that of the error does not suit.
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
  /**
   * Is called with errors with a status from 500 on, by `error(error)` or as a function; `false` logs
   * none. Default: the logger of the request, which gets the service and the method as well.
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

/** Answers errors, as JSON or as a page, and logs those that are the server's fault. */
export class ErrorAnswers {
  readonly #html: Exclude<ErrorHandlerOptions['html'], undefined>
  readonly #json: Exclude<ErrorHandlerOptions['json'], undefined>
  readonly #log: ErrorLog
  readonly #hasPrefix: boolean

  /** @param logger takes the place of the logger of each request */
  constructor(options: ErrorHandlerOptions, logger: Logger | null, prefix: string) {
    this.#html = options.html ?? {}
    this.#json = options.json ?? {}
    this.#hasPrefix = prefix !== ''
    this.#log = new ErrorLog(options.logger, logger)
  }

  /**
   * Answers an error; 500 where the answer itself fails, by a getter of the error that throws
   * for example.
   * @param thrown what the error was made of
   */
  send(error: ServiceError, thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    try {
      this.#log.log(error, thrown, request, reply)
      this.#send(error, request, reply)
    } catch (failure) {
      answerFailure(failure, request, reply)
    }
  }

  /** Logs an error that comes when an answer has begun. Returns its body, for what is left of the answer. */
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
   * Answers an error by its body, which holds nothing secret, where nothing else is sent: neither a
   * page nor what a responder makes. Returns whether it did.
   */
  sendIfPlain(body: ErrorJSON, request: FastifyRequest, reply: FastifyReply): boolean {
    if (toResponder(this.#json, body.code) !== undefined) return false
    if (this.#html !== false) {
      if (prefersHtml(request.headers.accept)) return false
      addVary(reply, 'accept')
    }
    sendErrorBody(reply.code(body.code), body)
    return true
  }

  #send(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
    const status = error.statusCode
    reply.code(status)
    setRetryAfter(error, reply)
    const html = this.#html
    // On JSON answers too, so that a cache does not hand them to a browser that asks for HTML.
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
    // Below a prefix, what `/` is belongs to somebody else.
    const hasWayBack = !this.#hasPrefix && toPath(request.originalUrl, DEFAULT_ROUTING) !== '/'
    sendPage(reply, renderErrorPage({ status, message, hasWayBack }))
  }
}

/** Returns what answers a status: one function for all, or that of the table. */
function toResponder<T>(
  responders: ErrorResponder | ErrorResponders<T>,
  status: number,
): T | ErrorResponder | undefined {
  return typeof responders === 'function'
    ? responders
    : (responders[status] ?? responders['default'])
}

/**
 * Sets `Retry-After`: from the data of the error, or one second for a 503. Data with a `limit` tells of a limit
 * of calls that is used up.
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
 * Calls the responder of a user and sends what it returns. Where it neither sends nor returns
 * anything, the default answer is sent; where it throws, 500.
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
    // It takes the reply and returns no promise, so it may send later, from a callback.
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
      request.log.error({ err: failure }, `The page for ${reply.statusCode} can not be read`)
      sendDefault()
    },
  )
}

function answerFailure(failure: unknown, request: FastifyRequest, reply: FastifyReply): void {
  request.log.error({ err: failure }, 'An error responder failed')
  if (!reply.sent) sendErrorBody(reply.code(500), toServiceError(null).toJSON())
}

/** The parts of an error that may repeat what a request sent, and what removes secrets from them. */
const TOLD_PARTS = [
  ['data', redactData],
  ['errors', redactErrors],
] as const

/**
 * Returns the body of an error without secrets. What JSON can't hold is left out, a circle for example:
 * the caller needs the status.
 * @param tellLost called with the name of the part that is left out, and the reason
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
