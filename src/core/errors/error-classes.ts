import { ServiceError } from './service-error.ts'

/** 400: the request is malformed or names something that is not allowed. */
export class BadRequest extends ServiceError {}

/** 401: no valid proof of identity. */
export class NotAuthenticated extends ServiceError {}

/** 402: payment is required. */
export class PaymentError extends ServiceError {}

/** 403: the caller is known, but may not do this. */
export class Forbidden extends ServiceError {}

/** 404: no such service or record. */
export class NotFound extends ServiceError {}

/** 405: the service does not offer this method. */
export class MethodNotAllowed extends ServiceError {}

/** 406: no format that the client accepts. */
export class NotAcceptable extends ServiceError {}

/** 408: took too long. */
export class Timeout extends ServiceError {}

/** 409: conflicts with the state of the record, such as a duplicate. */
export class Conflict extends ServiceError {}

/** 410: existed once and is gone for good. */
export class Gone extends ServiceError {}

/** 411: a length is required. */
export class LengthRequired extends ServiceError {}

/** 412: a condition of the request does not hold. */
export class PreconditionFailed extends ServiceError {}

/** 413: the body or document is larger than allowed. */
export class PayloadTooLarge extends ServiceError {}

/** 415: bodies of this media type are not supported. */
export class UnsupportedMediaType extends ServiceError {}

/** 422: well-formed, but rejected by a rule of the data. */
export class Unprocessable extends ServiceError {}

/** 428: the request must name the version that it is about. */
export class PreconditionRequired extends ServiceError {}

/** 429: too many requests in a given time. */
export class TooManyRequests extends ServiceError {}

/** 500: something failed on the server. */
export class GeneralError extends ServiceError {}

/** 501: not implemented. */
export class NotImplemented extends ServiceError {}

/** 502: a server behind this one failed. */
export class BadGateway extends ServiceError {}

/** 503: unavailable for now, for example because the database is down. */
export class Unavailable extends ServiceError {}

type ErrorName =
  | 'BadRequest'
  | 'NotAuthenticated'
  | 'PaymentError'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'Timeout'
  | 'Conflict'
  | 'Gone'
  | 'LengthRequired'
  | 'PreconditionFailed'
  | 'PayloadTooLarge'
  | 'UnsupportedMediaType'
  | 'Unprocessable'
  | 'PreconditionRequired'
  | 'TooManyRequests'
  | 'GeneralError'
  | 'NotImplemented'
  | 'BadGateway'
  | 'Unavailable'

/** Every class of this file with its status and its name, because bundlers rename classes. */
const ERRORS: readonly (readonly [typeof ServiceError, name: ErrorName, code: number])[] = [
  [BadRequest, 'BadRequest', 400],
  [NotAuthenticated, 'NotAuthenticated', 401],
  [PaymentError, 'PaymentError', 402],
  [Forbidden, 'Forbidden', 403],
  [NotFound, 'NotFound', 404],
  [MethodNotAllowed, 'MethodNotAllowed', 405],
  [NotAcceptable, 'NotAcceptable', 406],
  [Timeout, 'Timeout', 408],
  [Conflict, 'Conflict', 409],
  [Gone, 'Gone', 410],
  [LengthRequired, 'LengthRequired', 411],
  [PreconditionFailed, 'PreconditionFailed', 412],
  [PayloadTooLarge, 'PayloadTooLarge', 413],
  [UnsupportedMediaType, 'UnsupportedMediaType', 415],
  [Unprocessable, 'Unprocessable', 422],
  [PreconditionRequired, 'PreconditionRequired', 428],
  [TooManyRequests, 'TooManyRequests', 429],
  [GeneralError, 'GeneralError', 500],
  [NotImplemented, 'NotImplemented', 501],
  [BadGateway, 'BadGateway', 502],
  [Unavailable, 'Unavailable', 503],
]

for (const [errorClass, name, code] of ERRORS) {
  const className = name.replace(/\B[A-Z]/g, '-$&').toLowerCase()
  Object.defineProperty(errorClass, 'name', { value: name })
  Object.assign(errorClass, { code, className })
}

/** Every class of this file. */
export const ERROR_CLASSES: readonly (typeof ServiceError)[] = ERRORS.map(
  ([errorClass]) => errorClass,
)

/** All error classes by name, like `errors` of `@feathersjs/errors`. */
// Marked as pure: a bundle that does not use it leaves it out.
export const errors = /* @__PURE__ */ Object.fromEntries(
  /* @__PURE__ */ ERRORS.map(([errorClass, name]) => [name, errorClass]),
) as Readonly<Record<ErrorName, typeof ServiceError>>

/** Whether a status says that the server, or one behind it, is unavailable for now. */
export function isAway(status: number): boolean {
  return status >= 502 && status <= 504
}

/** Whether a later attempt may succeed: the server failed, was too slow, or got too many requests. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}
