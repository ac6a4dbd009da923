import {
  BadRequest,
  Conflict,
  Forbidden,
  GeneralError,
  MethodNotAllowed,
  NotAcceptable,
  NotAuthenticated,
  NotFound,
  NotImplemented,
  PayloadTooLarge,
  PreconditionFailed,
  PreconditionRequired,
  Timeout,
  TooManyRequests,
  Unavailable,
  Unprocessable,
  UnsupportedMediaType,
} from './error-classes.ts'
import type { ServiceError } from './service-error.ts'

type ErrorClass = typeof ServiceError

/** The class of a mistake of the program. */
export type SetupErrorClass = new (message: string, options?: ErrorOptions) => TypeError

/**
 * Returns a subclass whose errors have a stable code. It keeps the name of its base, which clients read. The code is on
 * the prototype: it costs no time per error, and no copy contains it.
 */
/* @__NO_SIDE_EFFECTS__ */
export function coded<Base extends ErrorClass | SetupErrorClass>(
  ErrorOfBase: Base,
  errorCode: string,
): Base {
  class Coded extends (ErrorOfBase as ErrorClass) {
    static override readonly name: string = ErrorOfBase.name
  }
  Object.defineProperty(Coded.prototype, 'errorCode', { value: errorCode, writable: true })
  return Coded as unknown as Base
}

// The codes never change. `docs/reference/error-codes.md` explains them in this order.

// Requests and queries.
export const InvalidRequest: ErrorClass = coded(BadRequest, 'INVALID_REQUEST')
export const InvalidQuery: ErrorClass = coded(BadRequest, 'INVALID_QUERY')
export const QueryTooLarge: ErrorClass = coded(BadRequest, 'QUERY_TOO_LARGE')
export const FieldNotQueryable: ErrorClass = coded(BadRequest, 'FIELD_NOT_QUERYABLE')
export const InvalidCursor: ErrorClass = coded(BadRequest, 'INVALID_CURSOR')
export const InvalidId: ErrorClass = coded(BadRequest, 'INVALID_ID')
export const ServiceNotFound: ErrorClass = coded(NotFound, 'SERVICE_NOT_FOUND')
export const RecordNotFound: ErrorClass = coded(NotFound, 'RECORD_NOT_FOUND')
export const MethodNotOffered: ErrorClass = coded(MethodNotAllowed, 'METHOD_NOT_ALLOWED')
export const MultiNotAllowed: ErrorClass = coded(MethodNotAllowed, 'MULTI_NOT_ALLOWED')
export const TypeNotAcceptable: ErrorClass = coded(NotAcceptable, 'NOT_ACCEPTABLE')
export const CallAborted: ErrorClass = coded(BadRequest, 'CALL_ABORTED')
export const CallTimeout: ErrorClass = coded(Timeout, 'CALL_TIMEOUT')

// Bodies and data.
export const InvalidBody: ErrorClass = coded(BadRequest, 'INVALID_BODY')
export const BodyTooComplex: ErrorClass = coded(BadRequest, 'BODY_TOO_COMPLEX')
export const BodyTooLarge: ErrorClass = coded(PayloadTooLarge, 'BODY_TOO_LARGE')
export const BodyTypeUnsupported: ErrorClass = coded(UnsupportedMediaType, 'UNSUPPORTED_MEDIA_TYPE')
export const InvalidData: ErrorClass = coded(BadRequest, 'INVALID_DATA')
export const FieldNotWritable: ErrorClass = coded(BadRequest, 'FIELD_NOT_WRITABLE')
export const ValidationFailed: ErrorClass = coded(BadRequest, 'VALIDATION_FAILED')
export const ResolverFailed: ErrorClass = coded(BadRequest, 'RESOLVER_FAILED')
export const ConditionRequired: ErrorClass = coded(BadRequest, 'CONDITION_REQUIRED')
export const ShardKeyRequired: ErrorClass = coded(BadRequest, 'SHARD_KEY_REQUIRED')

// Versions and repeated requests.
export const InvalidVersion: ErrorClass = coded(BadRequest, 'INVALID_VERSION')
export const VersionConflict: ErrorClass = coded(PreconditionFailed, 'VERSION_CONFLICT')
export const VersionUnsupported: ErrorClass = coded(PreconditionFailed, 'VERSION_UNSUPPORTED')
export const VersionRequired: ErrorClass = coded(PreconditionRequired, 'VERSION_REQUIRED')
export const InvalidIdempotencyKey: ErrorClass = coded(BadRequest, 'INVALID_IDEMPOTENCY_KEY')
export const IdempotencyKeyReused: ErrorClass = coded(Unprocessable, 'IDEMPOTENCY_KEY_REUSED')
export const IdempotencyConflict: ErrorClass = coded(Conflict, 'IDEMPOTENCY_CONFLICT')

// Streams, live queries and sockets.
export const StreamUnsupported: ErrorClass = coded(NotAcceptable, 'STREAM_UNSUPPORTED')
export const InvalidStream: ErrorClass = coded(BadRequest, 'INVALID_STREAM')
export const StreamLimit: ErrorClass = coded(TooManyRequests, 'STREAM_LIMIT')
export const ServerStreamLimit: ErrorClass = coded(Unavailable, 'SERVER_STREAM_LIMIT')
export const InvalidSocketCall: ErrorClass = coded(BadRequest, 'INVALID_SOCKET_CALL')
export const SocketLimit: ErrorClass = coded(TooManyRequests, 'SOCKET_LIMIT')
export const EventsUnavailable: ErrorClass = coded(Unavailable, 'EVENTS_UNAVAILABLE')

// Logins and rights.
export const LoginRequired: ErrorClass = coded(NotAuthenticated, 'LOGIN_REQUIRED')
export const LoginRejected: ErrorClass = coded(NotAuthenticated, 'LOGIN_REJECTED')
export const InvalidToken: ErrorClass = coded(NotAuthenticated, 'INVALID_TOKEN')
export const TokenExpired: ErrorClass = coded(NotAuthenticated, 'TOKEN_EXPIRED')
export const LoginEnded: ErrorClass = coded(NotAuthenticated, 'LOGIN_ENDED')
export const InvalidApiKey: ErrorClass = coded(NotAuthenticated, 'INVALID_API_KEY')
export const LoginMisconfigured: ErrorClass = coded(NotAuthenticated, 'LOGIN_MISCONFIGURED')
export const LoginLimit: ErrorClass = coded(TooManyRequests, 'LOGIN_LIMIT')
export const RateLimitReached: ErrorClass = coded(TooManyRequests, 'RATE_LIMIT')
export const PasswordsBusy: ErrorClass = coded(Unavailable, 'PASSWORDS_BUSY')
export const AccessDenied: ErrorClass = coded(Forbidden, 'ACCESS_DENIED')
export const ScopeRequired: ErrorClass = coded(Forbidden, 'SCOPE_REQUIRED')
export const InvalidLink: ErrorClass = coded(Forbidden, 'INVALID_LINK')
export const OriginNotAllowed: ErrorClass = coded(Forbidden, 'ORIGIN_NOT_ALLOWED')
export const InvalidPassword: ErrorClass = coded(BadRequest, 'INVALID_PASSWORD')
export const WrongPassword: ErrorClass = coded(BadRequest, 'WRONG_PASSWORD')
export const InvalidAccountToken: ErrorClass = coded(BadRequest, 'INVALID_ACCOUNT_TOKEN')
export const InvalidAccountCall: ErrorClass = coded(BadRequest, 'INVALID_ACCOUNT_CALL')
export const LimitReached: ErrorClass = coded(Conflict, 'LIMIT_REACHED')
export const HashingMisconfigured: ErrorClass = coded(BadRequest, 'HASHING_MISCONFIGURED')

// OAuth.
export const InvalidOAuthRequest: ErrorClass = coded(BadRequest, 'INVALID_OAUTH_REQUEST')
export const ProviderNotFound: ErrorClass = coded(NotFound, 'OAUTH_PROVIDER_NOT_FOUND')
export const OAuthRejected: ErrorClass = coded(NotAuthenticated, 'OAUTH_REJECTED')
export const OAuthFlowEnded: ErrorClass = coded(NotAuthenticated, 'OAUTH_FLOW_ENDED')
export const OAuthFailed: ErrorClass = coded(GeneralError, 'OAUTH_FAILED')

// The database and the server.
export const DuplicateRecord: ErrorClass = coded(Conflict, 'DUPLICATE_RECORD')
export const WriteConflict: ErrorClass = coded(Conflict, 'WRITE_CONFLICT')
export const DatabaseRuleBroken: ErrorClass = coded(Unprocessable, 'DATABASE_RULE')
export const DatabaseRejected: ErrorClass = coded(BadRequest, 'DATABASE_REJECTED')
export const RecordTooLarge: ErrorClass = coded(PayloadTooLarge, 'RECORD_TOO_LARGE')
export const DatabaseTimeout: ErrorClass = coded(Timeout, 'DATABASE_TIMEOUT')
export const ReplicaSetRequired: ErrorClass = coded(NotImplemented, 'REPLICA_SET_REQUIRED')
export const WriteUnconfirmed: ErrorClass = coded(Unavailable, 'WRITE_UNCONFIRMED')
export const DatabaseUnavailable: ErrorClass = coded(Unavailable, 'DATABASE_UNAVAILABLE')
export const ResponseTimeout: ErrorClass = coded(Unavailable, 'RESPONSE_TIMEOUT')
export const ServerClosing: ErrorClass = coded(Unavailable, 'SERVER_CLOSING')
export const InternalError: ErrorClass = coded(GeneralError, 'INTERNAL_ERROR')

// The client.
export const InvalidCall: ErrorClass = coded(BadRequest, 'INVALID_CALL')
export const NoResponse: ErrorClass = coded(Unavailable, 'NO_RESPONSE')
export const ResponseLate: ErrorClass = coded(Timeout, 'NO_RESPONSE_IN_TIME')
export const ConnectionLost: ErrorClass = coded(Unavailable, 'CONNECTION_LOST')
export const InvalidResponse: ErrorClass = coded(GeneralError, 'INVALID_RESPONSE')
export const UnexpectedType: ErrorClass = coded(NotAcceptable, 'UNEXPECTED_TYPE')
export const CursorsUnsupported: ErrorClass = coded(NotImplemented, 'CURSORS_UNSUPPORTED')
export const LoginReplaced: ErrorClass = coded(NotAuthenticated, 'LOGIN_REPLACED')
export const TokenStorageFailed: ErrorClass = coded(GeneralError, 'TOKEN_STORAGE_FAILED')
