import type { MongoClient } from 'mongodb'

import { ServiceError, Unavailable } from '../core/errors/index.ts'
import { OUTCOME_UNKNOWN, toDatabaseError } from './driver-error.ts'
import { isDriverError } from './transactions/transaction-error.ts'

/** How many connections the pools of a client have handed out to commands. */
interface Handouts {
  count: number
}

const handoutsOf = new WeakMap<MongoClient, Handouts>()

/**
 * Resolves to what a write resolves to.
 * @throws {ServiceError} that of the operation, or what `toDatabaseError` makes of its error. An
 *   `Unavailable` of the driver has `errors.outcome: 'unknown'` unless it is certain that nothing was
 *   written
 */
export async function callWrite<R>(client: MongoClient, operation: () => Promise<R>): Promise<R> {
  const handouts = countHandouts(client)
  const before = handouts.count
  try {
    return await operation()
  } catch (thrown) {
    const error = toDatabaseError(thrown)
    // The error of a service was thrown before anything was written: by a read, or by a check.
    const isClear = thrown instanceof ServiceError || !(error instanceof Unavailable)
    if (isClear || error.errors !== undefined || isUnwritten(thrown)) throw error
    if (handouts.count === before && !client.options.loadBalanced) throw error
    throw toUnknown(error)
  }
}

/** Returns an `Unavailable` for a call that may have written something. */
export function toUnknown(error: Unavailable): Unavailable {
  return new Unavailable(error.message, OUTCOME_UNKNOWN, { cause: error.cause })
}

/**
 * Returns the count of a client. While it stays the same no command has been sent. The class of an
 * error does not tell: the driver repeats some writes, and throws that it finds no server, or no
 * free connection, for the second attempt as well. With a load balancer a session may keep its
 * connection, and the count says nothing.
 */
function countHandouts(client: MongoClient): Handouts {
  const known = handoutsOf.get(client)
  if (known !== undefined) return known
  const handouts = { count: 0 }
  handoutsOf.set(client, handouts)
  client.on('connectionCheckedOut', () => {
    handouts.count += 1
  })
  return handouts
}

/**
 * Whether the server says that nothing was written. Of several attempts the driver throws an error
 * with this label only when those before had it too.
 */
function isUnwritten(thrown: unknown): boolean {
  return isDriverError(thrown) && thrown.hasErrorLabel('NoWritesPerformed')
}
