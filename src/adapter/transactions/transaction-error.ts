import { Unavailable } from '../../core/errors/index.ts'
import { OUTCOME_UNKNOWN, toDatabaseError } from '../driver-error.ts'

/** An error of the driver, with labels that say what may be tried again. */
export interface DriverError extends Error {
  /** That of the server; some errors of the driver have one of Node, a string. */
  readonly code?: number | string
  hasErrorLabel(label: string): boolean
}

/** Returns whether an error is one of the driver, whichever copy of it. */
export function isDriverError(error: unknown): error is DriverError {
  return (
    error instanceof Error && typeof (error as Partial<DriverError>).hasErrorLabel === 'function'
  )
}

/**
 * Returns whether the database has given up a transaction by an error: it has answered it, by a code,
 * or the connection broke. What the driver refuses before it sends anything has neither.
 */
export function endsTransaction(error: DriverError): boolean {
  return typeof error.code === 'number' || error.hasErrorLabel('TransientTransactionError')
}

/**
 * Returns the error of a transaction for what the driver threw: that of a service; any other stays
 * as it is.
 */
export function toTransactionError(thrown: unknown): unknown {
  if (!isDriverError(thrown)) return thrown
  if (!thrown.hasErrorLabel('UnknownTransactionCommitResult')) return toDatabaseError(thrown)
  return new Unavailable('The database has not confirmed the transaction', OUTCOME_UNKNOWN, {
    cause: thrown,
  })
}
