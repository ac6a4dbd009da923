import { ServiceError } from './service-error.ts'

/** 400: the request is malformed or names something that is not allowed. */
export class BadRequest extends ServiceError {
  static override readonly name: string = 'BadRequest'
  static override readonly code: number = 400
}

/** 401: no valid proof of identity. */
export class NotAuthenticated extends ServiceError {
  static override readonly name: string = 'NotAuthenticated'
  static override readonly code: number = 401
}

/** 402: payment is required. */
export class PaymentError extends ServiceError {
  static override readonly name: string = 'PaymentError'
  static override readonly code: number = 402
}

/** 403: known, and not allowed to do this. */
export class Forbidden extends ServiceError {
  static override readonly name: string = 'Forbidden'
  static override readonly code: number = 403
}

/** 404: no such service or record. */
export class NotFound extends ServiceError {
  static override readonly name: string = 'NotFound'
  static override readonly code: number = 404
}

/** 405: the service does not offer this method. */
export class MethodNotAllowed extends ServiceError {
  static override readonly name: string = 'MethodNotAllowed'
  static override readonly code: number = 405
}

/** 406: no format that the client accepts. */
export class NotAcceptable extends ServiceError {
  static override readonly name: string = 'NotAcceptable'
  static override readonly code: number = 406
}

/** 408: took too long. */
export class Timeout extends ServiceError {
  static override readonly name: string = 'Timeout'
  static override readonly code: number = 408
}

/** 409: in conflict with the state of the record, a duplicate for example. */
export class Conflict extends ServiceError {
  static override readonly name: string = 'Conflict'
  static override readonly code: number = 409
}

/** 410: was here once and is gone for good. */
export class Gone extends ServiceError {
  static override readonly name: string = 'Gone'
  static override readonly code: number = 410
}

/** 411: a length is required. */
export class LengthRequired extends ServiceError {
  static override readonly name: string = 'LengthRequired'
  static override readonly code: number = 411
}

/** 412: a condition of the request does not hold. */
export class PreconditionFailed extends ServiceError {
  static override readonly name: string = 'PreconditionFailed'
  static override readonly code: number = 412
}

/** 413: the body or document is larger than allowed. */
export class PayloadTooLarge extends ServiceError {
  static override readonly name: string = 'PayloadTooLarge'
  static override readonly code: number = 413
}

/** 415: a body of this media type is not read. */
export class UnsupportedMediaType extends ServiceError {
  static override readonly name: string = 'UnsupportedMediaType'
  static override readonly code: number = 415
}

/** 422: well-formed, and refused by a rule of the data. */
export class Unprocessable extends ServiceError {
  static override readonly name: string = 'Unprocessable'
  static override readonly code: number = 422
}

/** 429: too many requests in a given time. */
export class TooManyRequests extends ServiceError {
  static override readonly name: string = 'TooManyRequests'
  static override readonly code: number = 429
}

/** 500: something failed on the server. */
export class GeneralError extends ServiceError {
  static override readonly name: string = 'GeneralError'
}

/** 501: not implemented. */
export class NotImplemented extends ServiceError {
  static override readonly name: string = 'NotImplemented'
  static override readonly code: number = 501
}

/** 502: a server behind this one failed. */
export class BadGateway extends ServiceError {
  static override readonly name: string = 'BadGateway'
  static override readonly code: number = 502
}

/** 503: not now; the database is away, for example. */
export class Unavailable extends ServiceError {
  static override readonly name: string = 'Unavailable'
  static override readonly code: number = 503
}

/** Every class of this file. */
export const ERROR_CLASSES: readonly (typeof ServiceError)[] = [
  BadRequest,
  NotAuthenticated,
  PaymentError,
  Forbidden,
  NotFound,
  MethodNotAllowed,
  NotAcceptable,
  Timeout,
  Conflict,
  Gone,
  LengthRequired,
  PreconditionFailed,
  PayloadTooLarge,
  UnsupportedMediaType,
  Unprocessable,
  TooManyRequests,
  GeneralError,
  NotImplemented,
  BadGateway,
  Unavailable,
]

for (const errorClass of ERROR_CLASSES) {
  const className = errorClass.name.replace(/\B[A-Z]/g, '-$&').toLowerCase()
  Object.assign(errorClass, { className })
}
