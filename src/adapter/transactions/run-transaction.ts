import type { ClientSession, MongoClient, TransactionOptions } from 'mongodb'

import { toAbortError } from '../connection/read-signal.ts'
import { toDatabaseError } from '../driver-error.ts'
import { findTransaction, runInside, startAttempt } from './current-session.ts'
import type { RunningTransaction } from './running-transaction.ts'
import { toCommitError, toTransactionError } from './transaction-error.ts'

/** What a transaction runs, with the session for commands of its own. */
export type TransactionFunction<R> = (session: ClientSession) => R | Promise<R>

/** How a transaction runs. */
export interface TransactionSettings {
  readonly client: MongoClient
  /** Options for the driver. */
  readonly driver: TransactionOptions
  /** Returns what stops further attempts once it is aborted. It is asked before each of them. */
  readonly getSignal: () => AbortSignal | undefined
}

/**
 * Resolves to what a function returns, after the commit. The function runs again when the database
 * asks for it; inside of a transaction of the same client it becomes a part of that one.
 * @throws what the function throws; the transaction is aborted
 * @throws {ServiceError} the commit has failed, or the signal was aborted before another attempt
 */
export async function runTransaction<R>(
  settings: TransactionSettings,
  fn: TransactionFunction<R>,
): Promise<R> {
  const { client, driver, getSignal } = settings
  const outer = findTransaction(client)
  if (outer !== undefined) return fn(outer.session)
  const session = client.startSession()
  const attempts: Attempt<R>[] = []
  try {
    await session.withTransaction(async () => {
      const signal = attempts.pop() === undefined ? undefined : getSignal()
      if (signal?.aborted) throw toAbortError(signal.reason)
      const attempt = new Attempt<R>(startAttempt(session, client))
      attempts.push(attempt)
      await attempt.run(fn)
    }, toPrimary(driver))
  } catch (error) {
    throw attempts[0]?.toError(error) ?? error
  } finally {
    await session.endSession()
  }
  return (attempts[0] as Attempt<R>).finish()
}

/** The URL may have the client read from secondaries, which no transaction can. */
function toPrimary(options: TransactionOptions): TransactionOptions {
  return { readPreference: 'primary', ...options }
}

/** One run of the function of a transaction. */
class Attempt<R> {
  readonly #transaction: RunningTransaction
  #result: R | undefined
  #isAborted = false
  /** What the function threw, hooks and all; the driver gets an error of its own in its place. */
  #thrown: { readonly error: unknown } | undefined

  constructor(transaction: RunningTransaction) {
    this.#transaction = transaction
  }

  async run(fn: TransactionFunction<R>): Promise<void> {
    const transaction = this.#transaction
    try {
      this.#result = await runInside(transaction, () => fn(transaction.session))
    } catch (error) {
      this.#thrown = { error }
    }
    await transaction.close()
    const { failure } = transaction
    // The function itself may have ended it: then the driver does not commit.
    this.#isAborted = !transaction.session.inTransaction()
    if (this.#isAborted || failure !== undefined || this.#thrown !== undefined)
      transaction.discard()
    // The database has given the transaction up, even where an error was caught: a commit would
    // be refused with the request to run it all again.
    if (failure !== undefined) throw failure
    if (this.#thrown !== undefined) throw this.#thrown.error
  }

  /** Returns the error of the call for what the driver threw in the end. */
  toError(error: unknown): unknown {
    this.#transaction.discard()
    if (this.#thrown !== undefined) return toTransactionError(this.#thrown.error)
    return error === this.#transaction.failure ? toDatabaseError(error) : toCommitError(error)
  }

  finish(): R {
    if (!this.#isAborted) this.#transaction.release()
    return this.#result as R
  }
}
