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

/** Returns whether the server has answered with an error, rather than that nothing came of it. */
export function isAnswer(error: unknown): error is DriverError & { readonly code: number } {
  return isDriverError(error) && typeof error.code === 'number'
}

/**
 * Returns the error of a transaction for what its function threw: that of a service for an error of the
 * driver; any other stays as it is.
 */
export function toTransactionError(thrown: unknown): unknown {
  if (!isDriverError(thrown)) return thrown
  return isUnconfirmed(thrown) ? toUnconfirmed(thrown) : toDatabaseError(thrown)
}

/**
 * Returns the error of a transaction for what its commit threw. Only the server tells that it has not
 * happened: the driver throws as well that it finds none to ask a second time.
 */
export function toCommitError(thrown: unknown): unknown {
  const error = toTransactionError(thrown)
  const isKnown = isAnswer(thrown) || !(error instanceof Unavailable)
  return isKnown || error.errors !== undefined ? error : toUnconfirmed(thrown)
}

function isUnconfirmed(thrown: DriverError): boolean {
  return thrown.hasErrorLabel('UnknownTransactionCommitResult')
}

function toUnconfirmed(thrown: unknown): Unavailable {
  return new Unavailable('The database has not confirmed the transaction', OUTCOME_UNKNOWN, {
    cause: thrown,
  })
}
