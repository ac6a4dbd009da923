import { DatabaseUnavailable, LoginRejected } from '../core/errors/coded-errors.ts'
import type { NotAuthenticated } from '../core/index.ts'
import { ServiceError } from '../core/index.ts'

/** False if `Error` is frozen, as by `--frozen-intrinsics`; then errors keep their stack. */
const CAN_SET_LIMIT = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable === true

/**
 * Runs a function whose errors get no stack. Rejecting a forged token must not cost more than accepting a valid one,
 * and capturing the stack is most of the cost of an error.
 */
export function runWithoutStack<T>(run: () => T): T {
  if (!CAN_SET_LIMIT) return run()
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return run()
  } finally {
    Error.stackTraceLimit = limit
  }
}

/** The cause of an error that is not logged: the call did not try to log in. */
export const NO_ATTEMPT = { reason: 'no attempt to log in' }

/**
 * Returns the error of a failed authentication.
 * @param message the message for the caller
 * @param why the reason, a sentence or an error; it becomes the cause, which only the log contains
 * @param Refusal has the code, which must not tell more than the message
 */
export function createRefusal(
  message: string,
  why: unknown,
  Refusal: typeof ServiceError = LoginRejected,
): NotAuthenticated {
  const cause = typeof why === 'string' ? { reason: why } : why
  return new Refusal(message, undefined, { cause })
}

/** Returns why a call was rejected, for the log: the message and the fields of the cause. */
export function describeRefusal({ message, cause, errorCode }: ServiceError): object {
  const isExplained = typeof cause === 'object' && cause !== null && !(cause instanceof Error)
  return { errorCode, reason: message, ...(isExplained && cause) }
}

/**
 * Resolves to the result of a database command.
 * @param what begins the message of the error: `'The list of revoked tokens'`
 * @throws {Unavailable} the command failed; external callers do not see the cause
 */
export async function orUnavailable<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    throw new DatabaseUnavailable(`${what} cannot be reached`, { retryAfter: 1 }, { cause })
  }
}

/** Resolves to a result, `null` if the call is rejected with a status: 404 for a record, 401 for a login or a user. */
export async function orNull<T>(pending: Promise<T>, code: 401 | 404): Promise<T | null> {
  try {
    return await pending
  } catch (error) {
    if (error instanceof ServiceError && error.code === code) return null
    throw error
  }
}
