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

/** What emits the events of a call, once the transaction is committed; or something else that waits for that. */
interface HeldEvents {
  readonly emit: () => void
  readonly context: HookContext | null
}

/** What a transaction runs, with the session for commands of its own. */
export type TransactionFunction<R> = (session: ClientSession) => R | Promise<R>

/** One attempt of a transaction: what was left of the one before takes no part in the next. */
export class TransactionAttempt {
  readonly client: MongoClient
  readonly session: ClientSession
  /** What the function threw, hooks and all; the database may have ended the attempt before. */
  #thrown: { readonly error: unknown } | undefined
  /** The first error that has ended the attempt at the database: nothing of it can be kept. */
  #failure: DriverError | undefined
  /** The transaction of another client that this one runs inside of. */
  readonly #outer: TransactionAttempt | undefined
  readonly #events: HeldEvents[] = []
  /** The call that the transaction is a hook of: its events are emitted by itself, behind the hook. */
  #call: HookContext | undefined
  #state: 'open' | 'closed' | 'committed' | 'aborted' = 'open'
  readonly #calls = new SerialQueue()

  constructor(session: ClientSession, client: MongoClient, outer: TransactionAttempt | undefined) {
    this.session = session
    this.client = client
    this.#outer = outer
  }

  /** Returns the transaction of a client: this one, or one around it. */
  findFor(client: MongoClient): TransactionAttempt | undefined {
    return this.client === client ? this : this.#outer?.findFor(client)
  }

  /**
   * Resolves to what the function returns, with everything below it as a part of the transaction.
   * @throws what the function throws, or what the database has ended the attempt by
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
    // The database has given the transaction up, even where an error was caught: a commit would
    // be refused with the request to run it all again.
    if (this.#failure !== undefined) throw this.#failure
    if (this.#thrown !== undefined) throw this.#thrown.error
    return result as R
  }

  /** Returns the error of the call for what has ended the attempt, or its commit. */
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
   * Runs a call when those before it have ended: the server takes the commands of a session one
   * after another.
   * @throws {Error} the attempt has ended: outside of it the call would be written all the same
   */
  async runNext<C>(call: () => Promise<C>): Promise<C> {
    return this.#calls.run(() => this.#runCall(call))
  }

  /** Keeps what emits the events of a call; returns `false` when nothing is to wait for. */
  hold(emit: () => void, context: HookContext | null): boolean {
    const hasEnded = this.#state === 'committed' || this.#state === 'aborted'
    if (hasEnded) return this.#outer?.hold(emit, context) ?? false
    this.#events.push({ emit, context })
    return true
  }

  /** Has the events of the call that the transaction is a hook of written with it. */
  include(call: HookContext): void {
    this.#call = call
  }

  /** The call that the transaction is a hook of, `undefined` for none. */
  get call(): HookContext | undefined {
    return this.#call
  }

  /** Writes the events that are to come into the outbox of the client, as a part of the transaction. */
  async #store(): Promise<void> {
    const { outboxes } = getClientFacts(this.client)
    const hasFailed = this.#failure !== undefined || this.#thrown !== undefined
    if (outboxes.size === 0 || hasFailed || !this.session.inTransaction()) return
    const contexts = this.#events.flatMap(({ context }) => context ?? [])
    if (this.#call !== undefined) contexts.push(this.#call)
    if (contexts.length === 0) return
    for (const store of outboxes) await store(contexts, this.session)
  }

  /** Forgets the events that were held back; later ones, of work that goes on, are not its own. */
  #discard(): void {
    this.#state = 'aborted'
    this.#events.length = 0
  }

  async #runCall<C>(call: () => Promise<C>): Promise<C> {
    // Its function may have ended it by the session.
    if (this.#state !== 'open' || !this.session.inTransaction()) {
      throw new Error('The transaction of this call has ended: await each call inside of it')
    }
    try {
      return await call()
    } catch (error) {
      const { cause } = error as Error
      // The database has given the transaction up: it has answered by a code, or the connection broke. What
      // the driver refuses before it sends anything has neither.
      const isEnded = isAnswer(cause) || hasLabel(cause, 'TransientTransactionError')
      if (isEnded) this.#failure ??= cause
      throw error
    }
  }
}

/** The transaction that the code which is running belongs to. */
const running = new AsyncLocalStorage<TransactionAttempt>()

/** Returns the transaction of a client that is running here. */
export function findTransaction(client: MongoClient): TransactionAttempt | undefined {
  return running.getStore()?.findFor(client)
}

/**
 * Puts the session of the transaction that is running here into the options of a call, unless they
 * have another one. Returns the transaction that the call belongs to.
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

/** Returns a new attempt of a transaction, inside of what is running here. */
export function startAttempt(session: ClientSession, client: MongoClient): TransactionAttempt {
  EVENT_GATE.hold = holdEvents
  return new TransactionAttempt(session, client, running.getStore())
}

/** Has the running transaction hold an event of any application. Returns whether there is one. */
function holdEvents(emit: () => void, context: HookContext | null): boolean {
  return running.getStore()?.hold(emit, context) ?? false
}
