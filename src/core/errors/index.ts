/**
 * The error classes, and the way to JSON and back.
 * @module remex/errors
 */

export {
  BadGateway,
  BadRequest,
  Conflict,
  errors as default,
  errors,
  Forbidden,
  GeneralError,
  Gone,
  LengthRequired,
  MethodNotAllowed,
  NotAcceptable,
  NotAuthenticated,
  NotFound,
  NotImplemented,
  PayloadTooLarge,
  PaymentError,
  PreconditionFailed,
  PreconditionRequired,
  Timeout,
  TooManyRequests,
  Unavailable,
  Unprocessable,
  UnsupportedMediaType,
} from './error-classes.ts'
export { convert, errorFromJSON, toErrorClass, toServiceError } from './error-json.ts'
export type { ErrorData, ErrorJSON } from './service-error.ts'
export { ServiceError } from './service-error.ts'
