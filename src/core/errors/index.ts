/**
 * The error classes, and the way to JSON and back.
 * @module remex/errors
 */

/** All error classes by their names, as `errors` of `@feathersjs/errors` has them. */
export * as default from './error-classes.ts'
/** All error classes by their names, as `errors` of `@feathersjs/errors` has them. */
export * as errors from './error-classes.ts'
export {
  BadGateway,
  BadRequest,
  Conflict,
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
