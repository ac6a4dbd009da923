import { ServiceError } from './service-error.ts'

/** 400: the request is malformed or names something that is not allowed. */
export class BadRequest extends ServiceError {
  static override readonly name: string = 'BadRequest'
  static override readonly code: number = 400
  static override readonly className: string = 'bad-request'
}

/** 401: no valid proof of identity. */
export class NotAuthenticated extends ServiceError {
  static override readonly name: string = 'NotAuthenticated'
  static override readonly code: number = 401
  static override readonly className: string = 'not-authenticated'
}

/** 402: payment is required. */
export class PaymentError extends ServiceError {
  static override readonly name: string = 'PaymentError'
  static override readonly code: number = 402
  static override readonly className: string = 'payment-error'
}

/** 403: known, and not allowed to do this. */
export class Forbidden extends ServiceError {
  static override readonly name: string = 'Forbidden'
  static override readonly code: number = 403
  static override readonly className: string = 'forbidden'
}

/** 404: no such service or record. */
export class NotFound extends ServiceError {
  static override readonly name: string = 'NotFound'
  static override readonly code: number = 404
  static override readonly className: string = 'not-found'
}

/** 405: the service does not offer this method. */
export class MethodNotAllowed extends ServiceError {
  static override readonly name: string = 'MethodNotAllowed'
  static override readonly code: number = 405
  static override readonly className: string = 'method-not-allowed'
}

/** 406: no format that the client accepts. */
export class NotAcceptable extends ServiceError {
  static override readonly name: string = 'NotAcceptable'
  static override readonly code: number = 406
  static override readonly className: string = 'not-acceptable'
}

/** 408: took too long. */
export class Timeout extends ServiceError {
  static override readonly name: string = 'Timeout'
  static override readonly code: number = 408
  static override readonly className: string = 'timeout'
}

/** 409: in conflict with the state of the record, a duplicate for example. */
export class Conflict extends ServiceError {
  static override readonly name: string = 'Conflict'
  static override readonly code: number = 409
  static override readonly className: string = 'conflict'
}

/** 410: was here once and is gone for good. */
export class Gone extends ServiceError {
  static override readonly name: string = 'Gone'
  static override readonly code: number = 410
  static override readonly className: string = 'gone'
}

/** 411: a length is required. */
export class LengthRequired extends ServiceError {
  static override readonly name: string = 'LengthRequired'
  static override readonly code: number = 411
  static override readonly className: string = 'length-required'
}

/** 412: a condition of the request does not hold. */
export class PreconditionFailed extends ServiceError {
  static override readonly name: string = 'PreconditionFailed'
  static override readonly code: number = 412
  static override readonly className: string = 'precondition-failed'
}

/** 413: the body or document is larger than allowed. */
export class PayloadTooLarge extends ServiceError {
  static override readonly name: string = 'PayloadTooLarge'
  static override readonly code: number = 413
  static override readonly className: string = 'payload-too-large'
}

/** 415: a body of this media type is not read. */
export class UnsupportedMediaType extends ServiceError {
  static override readonly name: string = 'UnsupportedMediaType'
  static override readonly code: number = 415
  static override readonly className: string = 'unsupported-media-type'
}

/** 422: well-formed, and refused by a rule of the data. */
export class Unprocessable extends ServiceError {
  static override readonly name: string = 'Unprocessable'
  static override readonly code: number = 422
  static override readonly className: string = 'unprocessable'
}

/** 429: too many requests in a given time. */
export class TooManyRequests extends ServiceError {
  static override readonly name: string = 'TooManyRequests'
  static override readonly code: number = 429
  static override readonly className: string = 'too-many-requests'
}

/** 500: something failed on the server. */
export class GeneralError extends ServiceError {
  static override readonly name: string = 'GeneralError'
}

/** 501: not implemented. */
export class NotImplemented extends ServiceError {
  static override readonly name: string = 'NotImplemented'
  static override readonly code: number = 501
  static override readonly className: string = 'not-implemented'
}

/** 502: a server behind this one failed. */
export class BadGateway extends ServiceError {
  static override readonly name: string = 'BadGateway'
  static override readonly code: number = 502
  static override readonly className: string = 'bad-gateway'
}

/** 503: not now; the database is away, for example. */
export class Unavailable extends ServiceError {
  static override readonly name: string = 'Unavailable'
  static override readonly code: number = 503
  static override readonly className: string = 'unavailable'
}
