import {
  BodyTooLarge,
  BodyTypeUnsupported,
  InvalidBody,
  InvalidRequest,
} from '../../core/errors/coded-errors.ts'
import { ServiceError, toErrorClass, toServiceError } from '../../core/index.ts'

/** The errors of Fastify's parsers of bodies, by status. */
const BODY_ERRORS: Readonly<Record<number, typeof ServiceError>> = {
  400: InvalidBody,
  413: BodyTooLarge,
  415: BodyTypeUnsupported,
}

/**
 * Returns the error to respond with for something thrown outside of a service. An error of Fastify or a plugin below
 * 500 keeps its status and message; everything else is treated like an error thrown by a service.
 */
export function fromFastifyError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError || !(thrown instanceof Error)) return toServiceError(thrown)
  const { statusCode, code } = thrown as { statusCode?: unknown; code?: unknown }
  const isMeantForClients =
    typeof statusCode === 'number' &&
    ((statusCode >= 400 && statusCode < 500) || statusCode === 503)
  if (!isMeantForClients) return toServiceError(thrown)
  const BodyError = String(code).startsWith('FST_ERR_CTP_') ? BODY_ERRORS[statusCode] : undefined
  if (BodyError !== undefined) return new BodyError(thrown.message, null, { cause: thrown })
  return toStatusError(statusCode, thrown.message, thrown)
}

/** Returns an error with any status. A status below 500 without its own class belongs to a malformed request. */
export function toStatusError(status: number, message: string, cause?: unknown): ServiceError {
  const ErrorOfStatus = toErrorClass(status)
  const isKnown = ErrorOfStatus.code === status
  const ErrorClass = isKnown || status >= 500 ? ErrorOfStatus : InvalidRequest
  const error = new ErrorClass(message, null, cause === undefined ? {} : { cause })
  return isKnown ? error : Object.assign(error, { code: status })
}
