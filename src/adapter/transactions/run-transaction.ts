import { setTimeout as pause } from 'node:timers/promises'
import type { ClientSession, MongoClient, TransactionOptions } from 'mongodb'
import { Unavailable } from '../../core/errors/index.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { getClientFacts } from '../connection/client-facts.ts'
import { toAbortError } from '../connection/read-signal.ts'
import type { DriverError } from '../driver-error.ts'
import {
  hasLabel,
  isAnswer,
  isStandalone,
  toCommitError,
  toDatabaseError,
} from '../driver-error.ts'
import type { TransactionAttempt, TransactionFunction } from './transaction-attempt.ts'
import { findTransaction, startAttempt } from './transaction-attempt.ts'

/** How a transaction runs. */
interface TransactionSettings {
  readonly client: MongoClient
  /** Options for the driver. */
  readonly driver: TransactionOptions
  /** Returns the signal that stops more attempts once it is aborted. It is called before each attempt. */
  readonly getSignal: () => AbortSignal | undefined
}

/**
 * Resolves to what a function returns, after the commit. The function runs again when the database asks for
 * it; inside a transaction of the same client it joins that one.
 * @throws what the function throws; the transaction is aborted
 * @throws {ServiceError} the commit failed, or the signal was aborted before another attempt
 */
export async function runTransaction<R>(
  settings: TransactionSettings,
  fn: TransactionFunction<R>,
): Promise<R> {
  const { client, driver, getSignal } = settings
  const outer = findTransaction(client)
  if (outer !== undefined) return fn(outer.session)
  // The URL may make the client read from secondaries, which transactions cannot.
  const options: TransactionOptions = { readPreference: 'primary', ...driver }
  const session = client.startSession()
  const attempts: TransactionAttempt[] = []
  let result: R
  try {
    result = await runAttempts(session, options, OF_FUNCTION, async () => {
      const signal = attempts.pop() === undefined ? undefined : getSignal()
      if (signal?.aborted) throw toAbortError(signal.reason)
      const attempt = startAttempt(session, client)
      attempts.push(attempt)
      return attempt.run(fn)
    })
  } catch (error) {
    throw attempts[0]?.toError(error) ?? error
  } finally {
    await session.endSession()
  }
  attempts[0]?.finish()
  return result
}

/** How often and how long a transaction is tried, and after which errors. */
interface Patience {
  readonly attempts: number
  readonly longestMs: number
  /** Returns whether an error says that the whole transaction can be retried. */
  readonly isTransient: (error: unknown) => boolean
  /** Whether to repeat a commit that was not confirmed. */
  readonly repeatsCommit: boolean
  /** Whether the function may end the transaction by the session: then there is nothing to commit. */
  readonly mayBeEnded: boolean
}

/** For `transaction(fn)`: retried for as long as the driver specification says. */
const OF_FUNCTION: Patience = {
  attempts: Number.POSITIVE_INFINITY,
  longestMs: 120_000,
  isTransient: (error) => hasLabel(error, 'TransientTransactionError'),
  repeatsCommit: true,
  mayBeEnded: true,
}

/** For a call whose caller waits: the server ends a transaction after a minute. */
const OF_CALL: Patience = {
  attempts: 8,
  longestMs: 10_000,
  isTransient: (error) => isAnswer(error) && hasLabel(error, 'TransientTransactionError'),
  repeatsCommit: false,
  // Another call with the same session may have ended it: then nothing of this one is written.
  mayBeEnded: false,
}

/** The longest pause after the first attempt, in ms; it doubles with each one, up to half a second. */
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 500

/** The server's code for a command that exceeded its time limit. */
const TIME_EXPIRED = 50

/**
 * Runs a function in a transaction of the session and resolves to its result after the commit. Runs it again
 * after a conflict with another transaction.
 * @throws what the function throws in the last attempt; the transaction is aborted, or the server is gone
 * @throws {ServiceError} the commit failed
 */
async function runAttempts<R>(
  session: ClientSession,
  options: TransactionOptions,
  patience: Patience,
  run: () => Promise<R>,
): Promise<R> {
  const end = performance.now() + patience.longestMs
  for (let attempt = 1; ; attempt += 1) {
    session.startTransaction(options)
    try {
      const result = await run()
      const isEnded = patience.mayBeEnded && !session.inTransaction()
      if (!isEnded) await commit(session, patience, end)
      return result
    } catch (error) {
      const isLast = attempt === patience.attempts || performance.now() > end
      const isRepeated = !isLast && patience.isTransient(error)
      if (!isRepeated && isGone(error)) throw error
      if (session.inTransaction()) await session.abortTransaction()
      if (!isRepeated) throw error
    }
    await pause(Math.random() * Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS))
  }
}

async function commit(session: ClientSession, patience: Patience, end: number): Promise<void> {
  for (;;) {
    try {
      return await session.commitTransaction()
    } catch (error) {
      const isRepeated =
        patience.repeatsCommit &&
        hasLabel(error, 'UnknownTransactionCommitResult') &&
        !isExpired(error) &&
        performance.now() < end
      if (!isRepeated) throw patience.isTransient(error) ? error : toCommitError(error)
    }
  }
}

/** Whether the server has stopped a commit at `maxCommitTimeMS`. */
function isExpired({ code, writeConcernError }: DriverError): boolean {
  return code === TIME_EXPIRED || writeConcernError?.code === TIME_EXPIRED
}

/** Whether no server replied. */
function isGone(error: unknown): boolean {
  return !isAnswer(error) && toDatabaseError(error) instanceof Unavailable
}

/**
 * Codes by which the server rejects a transaction, or a command in one: command not supported, not
 * implemented, not supported in a transaction; time or memory limit exceeded.
 */
const REFUSALS: ReadonlySet<unknown> = new Set([115, 238, 263, 290, 388])

/** Read concern levels that a transaction cannot have. */
const OUTSIDE_ONLY: ReadonlySet<unknown> = new Set(['available', 'linearizable'])

/** Returns whether other calls cannot change what the commands of this call see. */
export function isIsolated({ driver }: AdapterCall): boolean {
  return driver.session?.inTransaction() === true
}

/**
 * Runs the commands of a call in one transaction: the caller's, else a new one, or none if the server does
 * not support them. If the call fails, nothing is written, unless the reply to the commit was lost. Runs
 * again when another call changes the same records at the same time.
 * @throws {ServiceError} the last attempt failed; with `errors.outcome: 'unknown'` if the commit was not
 *   confirmed
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
    // A service error is clear: nothing was written, or it says that the outcome is unknown.
    if (!isRefusal(error)) throw toDatabaseError(error)
    if (isStandalone(error)) getClientFacts(client).isStandalone = true
  } finally {
    // Not awaited: if the server is gone, it would wait for another one.
    if (given === undefined) void session.endSession()
    else if (session.inTransaction()) await session.abortTransaction()
  }
  return run(call)
}

/**
 * Returns the concerns of a call for its transaction, `null` if a transaction cannot have them. The driver
 * would ignore those of the collection.
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

/** Whether the server rejected the transaction itself, before the commit. */
function isRefusal(error: unknown): boolean {
  return isAnswer(error) && (isStandalone(error) || REFUSALS.has(error.code))
}
