import type { TransactionOptions } from 'mongodb'

import type { AdapterCall } from '../adapter-call.ts'
import { getClientFacts, isAnswer, isStandalone, toDatabaseError } from '../driver-error.ts'
import type { Patience } from './run-transaction.ts'
import { runAttempts } from './run-transaction.ts'

/** For a call whose caller waits: a transaction that the server ends has had its minute. */
const OF_CALL: Patience = {
  attempts: 8,
  longestMs: 10_000,
  isTransient: (error) => isAnswer(error) && error.hasErrorLabel('TransientTransactionError'),
  repeatsCommit: false,
  // Another call with the same session may have ended it: then nothing of this one is written.
  mayBeEnded: false,
}

/**
 * Refusals of a transaction, or of a command in one: command not supported, not implemented, not
 * supported in a transaction; one that takes longer than it may, or more memory.
 */
const REFUSALS: ReadonlySet<unknown> = new Set([115, 238, 263, 290, 388])

/** Levels of a read concern that a transaction can not have. */
const OUTSIDE_ONLY: ReadonlySet<unknown> = new Set(['available', 'linearizable'])

/** Returns whether no other call changes what the commands of this one see. */
export function isIsolated({ driver }: AdapterCall): boolean {
  return driver.session?.inTransaction() === true
}

/**
 * Runs the commands of a call in one transaction: that of its caller, else one of its own, and in
 * none where the server takes none. What fails in it is not written, unless the reply to the commit
 * is lost. Runs again when another call changes the same records at the same time.
 * @throws {ServiceError} what the error of the last attempt stands for; with `errors.outcome: 'unknown'`
 *   where the commit was not confirmed
 */
export async function runIsolated<R>(
  call: AdapterCall,
  run: (call: AdapterCall) => Promise<R>,
): Promise<R> {
  const { client } = call.collection.db
  const options = createTransactionOptions(call)
  if (isIsolated(call) || options === null || getClientFacts(client).isStandalone) return run(call)
  const { readConcern, writeConcern, readPreference, ...driver } = call.driver
  const given = driver.session
  const session = given ?? client.startSession()
  const inner = { ...call, driver: { ...driver, session } }
  try {
    return await runAttempts(session, options, OF_CALL, () => run(inner))
  } catch (error) {
    // That of a service counts as clear: nothing was written, or it says itself that it is unknown.
    if (!isRefusal(error)) throw toDatabaseError(error)
    if (isStandalone(error)) getClientFacts(client).isStandalone = true
  } finally {
    // Not awaited: where the server is gone, it waits for another one to tell.
    if (given === undefined) void session.endSession()
    else if (session.inTransaction()) await session.abortTransaction()
  }
  return run(call)
}

/**
 * Returns the concerns of a call for its transaction, `null` where they are of a kind that none has. The
 * driver would not take those of the collection.
 */
function createTransactionOptions({ collection, driver }: AdapterCall): TransactionOptions | null {
  const { readConcern = collection.readConcern, writeConcern = collection.writeConcern } = driver
  const level = typeof readConcern === 'string' ? readConcern : readConcern?.level
  if (writeConcern?.w === 0 || OUTSIDE_ONLY.has(level)) return null
  return {
    readPreference: 'primary',
    ...(readConcern === undefined ? {} : { readConcern }),
    ...(writeConcern === undefined ? {} : { writeConcern }),
  }
}

/** Whether an error came from the server before the commit, which refuses a transaction. */
function isRefusal(error: unknown): boolean {
  return isAnswer(error) && (isStandalone(error) || REFUSALS.has(error.code))
}
