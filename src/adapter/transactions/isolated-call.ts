import { setTimeout as pause } from 'node:timers/promises'
import type { ClientSession, MongoClient, TransactionOptions } from 'mongodb'

import { Unavailable } from '../../core/errors/index.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { isStandalone, toDatabaseError } from '../driver-error.ts'
import type { DriverError } from './transaction-error.ts'
import { isAnswer, toCommitError } from './transaction-error.ts'

/** How long a call is tried again, in ms: a transaction that the server ends has had its minute. */
const LONGEST_MS = 10_000

/** How often a call is tried when others change the same records at the same time. */
const ATTEMPTS = 8

/** The longest pause after the first attempt, in ms; it doubles with each one. */
const FIRST_PAUSE_MS = 5

/**
 * Refusals of a transaction, or of a command in one: command not supported, not implemented, not
 * supported in a transaction; one that takes longer than it may, or more memory.
 */
const REFUSALS: ReadonlySet<unknown> = new Set([115, 238, 263, 290, 388])

/** Levels of a read concern that a transaction can not have. */
const OUTSIDE_ONLY: ReadonlySet<unknown> = new Set(['available', 'linearizable'])

/** Clients of servers that take no transactions, so that they are asked only once. */
const STANDALONE = new WeakSet<MongoClient>()

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
  const options = toTransactionOptions(call)
  if (isIsolated(call) || options === null || STANDALONE.has(client)) return run(call)
  const given = call.driver.session
  const session = given ?? client.startSession()
  try {
    return await runAttempts(session, options, call, run)
  } catch (error) {
    // That of a service counts as clear: nothing was written, or it says itself that it is unknown.
    if (!isRefusal(error)) throw toDatabaseError(error)
    if (isStandalone(error)) STANDALONE.add(client)
  } finally {
    // Not awaited: where the server is gone, it waits for another one to tell.
    if (given === undefined) void session.endSession()
    else if (session.inTransaction()) await session.abortTransaction()
  }
  return run(call)
}

async function runAttempts<R>(
  session: ClientSession,
  options: TransactionOptions,
  call: AdapterCall,
  run: (call: AdapterCall) => Promise<R>,
): Promise<R> {
  const { readConcern, writeConcern, readPreference, ...driver } = call.driver
  const inner = { ...call, driver: { ...driver, session } }
  const end = performance.now() + LONGEST_MS
  for (let attempt = 1; ; attempt += 1) {
    session.startTransaction(options)
    try {
      const result = await run(inner)
      await commit(session)
      return result
    } catch (error) {
      if (isGone(error)) throw error
      if (session.inTransaction()) await session.abortTransaction()
      const isLast = attempt === ATTEMPTS || performance.now() > end
      if (isLast || !isTransient(error)) throw error
    }
    await pause(Math.random() * FIRST_PAUSE_MS * 2 ** attempt)
  }
}

/**
 * Returns the concerns of a call for its transaction, `null` where they are of a kind that none has. The
 * driver would not take those of the collection.
 */
function toTransactionOptions({ collection, driver }: AdapterCall): TransactionOptions | null {
  const { readConcern = collection.readConcern, writeConcern = collection.writeConcern } = driver
  const level = typeof readConcern === 'string' ? readConcern : readConcern?.level
  if (writeConcern?.w === 0 || OUTSIDE_ONLY.has(level)) return null
  return {
    readPreference: 'primary',
    ...(readConcern === undefined ? {} : { readConcern }),
    ...(writeConcern === undefined ? {} : { writeConcern }),
  }
}

async function commit(session: ClientSession): Promise<void> {
  try {
    await session.commitTransaction()
  } catch (error) {
    throw isTransient(error) ? error : toCommitError(error)
  }
}

function isTransient(error: unknown): error is DriverError {
  return isAnswer(error) && error.hasErrorLabel('TransientTransactionError')
}

/** Whether no server has answered. */
function isGone(error: unknown): boolean {
  return !isAnswer(error) && toDatabaseError(error) instanceof Unavailable
}

/** Whether an error came from the server before the commit, which refuses a transaction. */
function isRefusal(error: unknown): boolean {
  return isAnswer(error) && (isStandalone(error) || REFUSALS.has(error.code))
}
