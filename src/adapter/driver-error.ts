import type { MongoClient } from 'mongodb'
import {
  DatabaseRejected,
  DatabaseRuleBroken,
  DatabaseTimeout,
  DatabaseUnavailable,
  DuplicateRecord,
  InternalError,
  RecordTooLarge,
  ReplicaSetRequired,
  ShardKeyRequired,
  WriteConflict,
  WriteUnconfirmed,
} from '../core/errors/coded-errors.ts'
import type { ErrorData } from '../core/errors/index.ts'
import { Conflict, ServiceError, Timeout, Unavailable } from '../core/errors/index.ts'
import { isObject } from '../core/value-kind.ts'
import { getClientFacts } from './connection/client-facts.ts'

interface ErrorRow {
  readonly ErrorClass: typeof ServiceError
  readonly message: string
  /** Data that a program can use; a key `errors` becomes `error.errors`. */
  readonly data?: ErrorData
  /**
   * Codes of the server, and of Node if the driver passes its error on. Names of error classes of the driver
   * and of BSON, which throws before a command is sent.
   */
  readonly signs: readonly (number | string)[]
}

/** The write may have happened: repeating it may do it twice. */
const OUTCOME_UNKNOWN: { readonly errors: { readonly outcome: 'unknown' } } = {
  errors: { outcome: 'unknown' },
}

/** The record is larger than 16 MiB. */
const TOO_LARGE = 10334

/** The server does not support transactions. Its code 20 has many other meanings. */
const STANDALONE = 'standalone'

/** An update has a positional `$` without a condition on its list in the query. The server's code has many meanings. */
const POSITIONAL = 'positional'

/**
 * What callers see of a database error. The driver's own messages contain values and names of indexes and
 * databases, and never leave the process.
 * @see https://www.mongodb.com/docs/manual/reference/error-codes/
 */
const ERROR_TABLE: readonly ErrorRow[] = [
  {
    ErrorClass: DuplicateRecord,
    message: 'A record with the same values exists already',
    signs: [11000, 11001, 12582],
  },
  {
    ErrorClass: WriteConflict,
    message: 'Another call changed the record at the same time',
    // In seconds, like the header made from it.
    data: { retryAfter: 1 },
    signs: [24, 112, 251],
  },
  {
    ErrorClass: DatabaseRuleBroken,
    message: 'The data does not fit the rules of the collection',
    signs: [121],
  },
  {
    // Bad value, parse, type, overflow, length, BSON; path not viable, conflicting updates, dollar,
    // dot, empty name, ids and references of a wrong type, immutable field, options, namespace; a
    // sort that is too large or too long; two lists in one index, conversion; paths of fields;
    // geometry, languages, keys of an index; broken positional update, regular expression,
    // overlapping paths, negative number.
    ErrorClass: DatabaseRejected,
    message: 'The database rejects a value of the query or the data',
    signs: [
      ...[2, 9, 14, 15, 16, 22, 28, 40, 52, 53, 54, 55, 56, 57, 66, 72, 73, 171, 241, 292],
      ...[13026, 13027, 13068, 13103, 15998, 16410, 16411, 16412, 16755, 16766, 16804],
      ...[17261, 17262, 17280, 31249, 31250, 40352, 40353, 51024, 51091, 51108],
      ...['BSONError', 'BSONVersionError', 'BSONRuntimeError', 'BSONOffsetError'],
    ],
  },
  {
    ErrorClass: DatabaseRejected,
    message: 'A positional $ in the data needs a condition on its list in the query',
    signs: [POSITIONAL],
  },
  {
    ErrorClass: ShardKeyRequired,
    message: 'The query or the data has no value for the shard key',
    signs: [61],
  },
  {
    ErrorClass: RecordTooLarge,
    message: 'The record is larger than the database allows',
    signs: [TOO_LARGE, 17419, 17420, 'ERR_OUT_OF_RANGE'],
  },
  {
    ErrorClass: DatabaseTimeout,
    message: 'The database took too long',
    signs: [50, 262, 'MongoOperationTimeoutError'],
  },
  {
    ErrorClass: ReplicaSetRequired,
    message: 'Transactions need a replica set or a sharded cluster',
    signs: [STANDALONE],
  },
  {
    // Written by the primary, but not confirmed by as many servers as required.
    ErrorClass: WriteUnconfirmed,
    message: 'The database has not confirmed the write',
    data: OUTCOME_UNKNOWN,
    signs: [64, 75, 79, 100, 'MongoWriteConcernError'],
  },
  {
    // Server codes: a cursor that is gone, no server for a read preference, no majority to read from;
    // no primary, stepping down, shutting down, overloaded.
    ErrorClass: DatabaseUnavailable,
    message: 'The database is not available',
    signs: [
      ...[6, 7, 43, 89, 91, 133, 134, 189],
      ...[462, 9001, 10107, 11600, 11602, 13435, 13436],
      // Node's own codes, if a connection breaks while the driver writes to it.
      ...['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT', 'ENETDOWN', 'ENETUNREACH'],
      ...['EHOSTUNREACH', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'],
      ...['MongoNetworkError', 'MongoNetworkTimeoutError', 'MongoServerSelectionError'],
      ...['MongoPoolClearedError', 'PoolClearedOnNetworkError', 'MongoPoolClosedError'],
      ...['MongoWaitQueueTimeoutError', 'MongoNotConnectedError', 'MongoTopologyClosedError'],
      ...['MongoServerClosedError', 'MongoClientClosedError', 'MongoStalePrimaryError'],
    ],
  },
]

const ROW_BY_SIGN: ReadonlyMap<unknown, ErrorRow> = new Map(
  ERROR_TABLE.flatMap((row) => row.signs.map((sign): [unknown, ErrorRow] => [sign, row])),
)

/**
 * Returns a service error for anything thrown by a database call. Service errors stay as they are; others
 * become a class of the table, else a `GeneralError` "Internal error". The original is the `cause`, for the
 * log only. The `data` of a duplicate holds the names of the fields: `{ fields: ['email'] }`.
 * @param keyPattern the key of the index that a duplicate violated, if the error does not say it
 */
export function toDatabaseError(
  thrown: unknown,
  keyPattern: unknown = readDriverFacts(thrown).keyPattern,
): ServiceError {
  if (thrown instanceof ServiceError) return thrown
  // In `insertMany` the driver wraps its own errors, such as network errors.
  const { errorResponse } = readDriverFacts(thrown)
  const fault = errorResponse instanceof Error ? errorResponse : thrown
  const row = ROW_BY_SIGN.get(readDriverFacts(fault).name) ?? ROW_BY_SIGN.get(findErrorCode(fault))
  if (row === undefined) return new InternalError('Internal error', null, { cause: thrown })
  const hasFields = row.ErrorClass.code === Conflict.code && isObject(keyPattern)
  const data = hasFields ? { fields: Object.keys(keyPattern) } : row.data
  return new row.ErrorClass(row.message, data, { cause: thrown })
}

/**
 * Resolves to what the operation resolves to.
 * @throws {ServiceError} what the operation throws, converted by {@link toDatabaseError}
 */
export async function callDatabase<R>(operation: () => Promise<R>): Promise<R> {
  try {
    return await operation()
  } catch (error) {
    throw toDatabaseError(error)
  }
}

/** Returns the code of an error, or the equivalent one if the driver left it out. */
function findErrorCode(thrown: unknown): unknown {
  // In `insertMany` the driver measures each record itself.
  const { message = '' } = thrown instanceof Error ? thrown : {}
  if (message.startsWith('Document is larger than')) return TOO_LARGE
  if (message.startsWith('The positional operator did not find the match')) return POSITIONAL
  return isStandalone(thrown) ? STANDALONE : readDriverFacts(thrown).code
}

/**
 * Returns whether the server rejected a transaction because it does not support them. For writes the driver
 * replaces the error by its own, about retryable writes.
 */
export function isStandalone(thrown: unknown): boolean {
  const { originalError = thrown } = readDriverFacts(thrown)
  return originalError instanceof Error && originalError.message.startsWith('Transaction numbers ')
}

interface DriverFacts {
  readonly name?: unknown
  readonly code?: unknown
  readonly keyPattern?: unknown
  readonly originalError?: unknown
  readonly errorResponse?: unknown
}

function readDriverFacts(thrown: unknown): DriverFacts {
  return thrown instanceof Error ? (thrown as DriverFacts) : {}
}

/** An error of the driver, with labels that say what may be retried. */
export interface DriverError extends Error {
  /** The server's code; some driver errors have a Node code, a string. */
  readonly code?: number | string
  readonly writeConcernError?: { readonly code?: number }
  hasErrorLabel(label: string): boolean
}

/** Returns whether an error comes from the driver, in any copy of it. */
export function isDriverError(error: unknown): error is DriverError {
  return (
    error instanceof Error && typeof (error as Partial<DriverError>).hasErrorLabel === 'function'
  )
}

/** Labels of driver errors: what may be retried, and that nothing was written. */
type ErrorLabel =
  | ('TransientTransactionError' | 'UnknownTransactionCommitResult')
  | 'NoWritesPerformed'

/** Returns whether an error comes from the driver and has a label. */
export function hasLabel(thrown: unknown, label: ErrorLabel): thrown is DriverError {
  return isDriverError(thrown) && thrown.hasErrorLabel(label)
}

/** Returns whether the error is a reply of the server, rather than a lost connection or a timeout. */
export function isAnswer(error: unknown): error is DriverError & { readonly code: number } {
  return isDriverError(error) && typeof error.code === 'number'
}

/**
 * Returns the error of a transaction for what its function threw: a service error for a driver error; others
 * stay as they are.
 */
export function toTransactionError(thrown: unknown): unknown {
  if (!isDriverError(thrown)) return thrown
  return hasLabel(thrown, 'UnknownTransactionCommitResult')
    ? createUnconfirmedError(thrown)
    : toDatabaseError(thrown)
}

/**
 * Returns the error of a transaction for what its commit threw. Only a reply of the server proves that the
 * commit did not happen: the driver also throws if it finds no server for a second attempt.
 */
export function toCommitError(thrown: unknown): unknown {
  const error = toTransactionError(thrown)
  const isKnown = isAnswer(thrown) || !isUnanswered(error, thrown)
  return isKnown || error.errors !== undefined ? error : createUnconfirmedError(thrown)
}

function createUnconfirmedError(thrown: unknown): Unavailable {
  return new WriteUnconfirmed('The database has not confirmed the transaction', OUTCOME_UNKNOWN, {
    cause: thrown,
  })
}

/**
 * Resolves to the result of a write.
 * @throws {ServiceError} the error of the operation, converted by `toDatabaseError`. An `Unavailable` or a
 *   driver's `Timeout` has `errors.outcome: 'unknown'` unless it is certain that nothing was written
 */
export async function callWrite<R>(client: MongoClient, operation: () => Promise<R>): Promise<R> {
  const facts = getClientFacts(client)
  // If the count has not changed, no command was sent. The error's class does not tell: the driver repeats
  // some writes, and a second attempt can also find no server or no free connection. With a load balancer, a
  // session may keep its connection, so the count proves nothing.
  const before = facts.checkouts
  try {
    return await operation()
  } catch (thrown) {
    const error = toDatabaseError(thrown)
    // A service error comes from a read or a check, before anything was written. An error reply of the
    // database is as clear, unless it says that the server is shutting down.
    const isClear = thrown instanceof ServiceError || !isUnanswered(error, thrown)
    // After several attempts the driver sets this label only if all of them had it.
    const isUnwritten = hasLabel(thrown, 'NoWritesPerformed')
    if (isClear || error.errors !== undefined || isUnwritten) throw error
    if (facts.checkouts === before && !client.options.loadBalanced) throw error
    throw withOutcome(error, 'unknown')
  }
}

/** Whether a write may have happened despite an error. A timeout of the driver does not stop the command. */
function isUnanswered(error: unknown, thrown: unknown): error is ServiceError {
  return error instanceof Unavailable || (error instanceof Timeout && !isAnswer(thrown))
}

/** What a failed call wrote: `partial` means some of its records, `unknown` any number of them. */
export type Outcome = 'partial' | 'unknown'

/** Returns what the call of an error wrote; `undefined` for nothing. */
export function readOutcome(error: unknown): Outcome | undefined {
  const { errors } = error instanceof ServiceError ? error : {}
  return (errors as { readonly outcome?: Outcome } | undefined)?.outcome
}

/** Returns the error of a call that has written something, or may have: without `retryAfter`. */
export function withOutcome(error: ServiceError, outcome: Outcome): ServiceError {
  const { retryAfter, ...data } = { ...(error.data as Readonly<Record<string, unknown>>) }
  const ErrorClass = error.constructor as typeof ServiceError
  return new ErrorClass(error.message, { ...data, errors: { outcome } }, { cause: error.cause })
}
