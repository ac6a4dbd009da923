import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientSession, Collection, MongoClient } from 'mongodb'
import { EVENT_GATE } from '../../core/events/event-gate.ts'
import type { HookContext } from '../../core/hooks/hook-context.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { getClientFacts } from '../connection/client-facts.ts'
import type { DriverError } from '../driver-error.ts'
import {
  hasLabel,
  isAnswer,
  isDriverError,
  toCommitError,
  toDatabaseError,
  toTransactionError,
} from '../driver-error.ts'
import type { DriverOptions } from '../mongodb-params.ts'

/** Emits the events of a call after the commit, or runs other work that waits for it. */
interface HeldEvents {
  readonly emit: () => void
  readonly context: HookContext | null
}

/** What a transaction runs. It gets the session, for its own commands. */
export type TransactionFunction<R> = (session: ClientSession) => R | Promise<R>

/** One attempt of a transaction: calls left over from one attempt cannot take part in the next. */
export class TransactionAttempt {
  readonly client: MongoClient
  readonly session: ClientSession
  /** What the function threw, including hooks; the database may have ended the attempt before. */
  #thrown: { readonly error: unknown } | undefined
  /** The first error by which the database ended the attempt: nothing of it can be committed. */
  #failure: DriverError | undefined
  /** The transaction of another client around this one. */
  readonly #outer: TransactionAttempt | undefined
  readonly #events: HeldEvents[] = []
  #call: HookContext | undefined
  #state: 'open' | 'closed' | 'committed' | 'aborted' = 'open'
  readonly #calls = new SerialQueue()

  constructor(session: ClientSession, client: MongoClient, outer: TransactionAttempt | undefined) {
    this.session = session
    this.client = client
    this.#outer = outer
  }

  /**
   * The call whose hook runs the transaction: it emits its own events, after the hook. They are written with the
   * transaction.
   */
  get call(): HookContext | undefined {
    return this.#call
  }

  /** Returns the transaction of a client: this one, or one around it. */
  findFor(client: MongoClient): TransactionAttempt | undefined {
    return this.client === client ? this : this.#outer?.findFor(client)
  }

  /**
   * Resolves to what the function returns. All calls inside it are part of the transaction.
   * @throws what the function throws, or the error by which the database ended the attempt
   */
  async run<R>(fn: TransactionFunction<R>): Promise<R> {
    let result: R | undefined
    try {
      result = await running.run(this, () => fn(this.session))
    } catch (error) {
      this.#thrown = { error }
    }
    this.#state = 'closed'
    await this.#calls.settled
    await this.#store()
    const hasFailed = this.#failure !== undefined || this.#thrown !== undefined
    // The function itself may have ended it: then there is nothing to commit.
    if (hasFailed || !this.session.inTransaction()) this.#discard()
    // The database has aborted the transaction, even if the function caught the error: a commit would fail
    // and ask to run everything again.
    if (this.#failure !== undefined) throw this.#failure
    if (this.#thrown !== undefined) throw this.#thrown.error
    return result as R
  }

  /** Returns the error for the caller, for what ended the attempt or its commit. */
  toError(error: unknown): unknown {
    this.#discard()
    if (this.#thrown !== undefined) return toTransactionError(this.#thrown.error)
    if (error === this.#failure) return toDatabaseError(error)
    return isDriverError(error) ? toCommitError(error) : error
  }

  /** Emits the events that were held back, in their order. To be called after the commit. */
  finish(): void {
    if (this.#state === 'aborted') return
    this.#state = 'committed'
    for (const { emit, context } of this.#events) if (!this.hold(emit, context)) emit()
  }

  /**
   * Runs a call when those before it have ended: a session allows one command at a time.
   * @throws {Error} the attempt has ended: the call would write outside of the transaction
   */
  async runNext<C>(call: () => Promise<C>): Promise<C> {
    return this.#calls.run(() => this.#runCall(call))
  }

  /** Keeps the events of a call for later. Returns `false` if there is nothing to wait for. */
  hold(emit: () => void, context: HookContext | null): boolean {
    const hasEnded = this.#state === 'committed' || this.#state === 'aborted'
    if (hasEnded) return this.#outer?.hold(emit, context) ?? false
    this.#events.push({ emit, context })
    return true
  }

  /** Includes the events of the call whose hook runs the transaction. */
  include(call: HookContext): void {
    this.#call = call
  }

  /** Writes the held events into the outboxes of the client, as part of the transaction. */
  async #store(): Promise<void> {
    const { outboxes } = getClientFacts(this.client)
    const hasFailed = this.#failure !== undefined || this.#thrown !== undefined
    if (outboxes.size === 0 || hasFailed || !this.session.inTransaction()) return
    const contexts = this.#events.flatMap(({ context }) => context ?? [])
    if (this.#call !== undefined) contexts.push(this.#call)
    if (contexts.length === 0) return
    for (const store of outboxes) await store(contexts, this.session)
  }

  /** Drops the held events. Later events of work that goes on no longer belong to it. */
  #discard(): void {
    this.#state = 'aborted'
    this.#events.length = 0
  }

  async #runCall<C>(call: () => Promise<C>): Promise<C> {
    // The function may have ended it by the session.
    if (this.#state !== 'open' || !this.session.inTransaction()) {
      throw new Error('The transaction of this call has ended: await each call inside of it')
    }
    try {
      return await call()
    } catch (error) {
      const { cause } = error as Error
      // The database has aborted the transaction if it replied with a code, or if the connection broke.
      // Errors that the driver throws before it sends anything have neither.
      const isEnded = isAnswer(cause) || hasLabel(cause, 'TransientTransactionError')
      if (isEnded) this.#failure ??= cause
      throw error
    }
  }
}

/** The transaction that the running code belongs to. */
const running = new AsyncLocalStorage<TransactionAttempt>()

/** Returns the current transaction of a client. */
export function findTransaction(client: MongoClient): TransactionAttempt | undefined {
  return running.getStore()?.findFor(client)
}

/**
 * Sets the session of the current transaction in the options of a call, unless they have another one. Returns
 * the transaction that the call belongs to.
 */
export function joinTransaction(
  collection: Collection,
  driver: DriverOptions,
): TransactionAttempt | undefined {
  const transaction = running.getStore()?.findFor(collection.db.client)
  if (transaction === undefined) return undefined
  driver.session ??= transaction.session
  return driver.session === transaction.session ? transaction : undefined
}

/** Returns a new attempt of a transaction, nested in the current one. */
export function startAttempt(session: ClientSession, client: MongoClient): TransactionAttempt {
  EVENT_GATE.hold = holdEvents
  return new TransactionAttempt(session, client, running.getStore())
}

/** Makes the current transaction hold an event of any application. Returns whether there is one. */
function holdEvents(emit: () => void, context: HookContext | null): boolean {
  return running.getStore()?.hold(emit, context) ?? false
}
