import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientSession, Collection, MongoClient } from 'mongodb'
import { setEventGate } from '../../core/events/service-events.ts'
import type { DriverError } from '../driver-error.ts'
import { endsTransaction, isDriverError } from '../driver-error.ts'
import type { DriverOptions } from '../driver-options.ts'

/** One attempt of a transaction: what was left of the one before takes no part in the next. */
export class RunningTransaction {
  readonly client: MongoClient
  readonly session: ClientSession
  /** The first error that has ended the attempt at the database: nothing of it can be kept. */
  failure: DriverError | undefined
  /** The transaction of another client that this one runs inside of. */
  readonly #outer: RunningTransaction | undefined
  readonly #events: (() => void)[] = []
  #state: 'open' | 'closed' | 'committed' | 'aborted' = 'open'
  #last: Promise<unknown> = Promise.resolve()

  constructor(session: ClientSession, client: MongoClient, outer: RunningTransaction | undefined) {
    this.session = session
    this.client = client
    this.#outer = outer
  }

  /** Returns the transaction of a client: this one, or one around it. */
  findFor(client: MongoClient): RunningTransaction | undefined {
    return this.client === client ? this : this.#outer?.findFor(client)
  }

  /**
   * Runs a call when those before it have ended: the server takes the commands of a session one
   * after another.
   * @throws {Error} the attempt has ended: outside of it the call would be written all the same
   */
  async runNext<R>(call: () => Promise<R>): Promise<R> {
    const turn = this.#last.then(() => this.#run(call))
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Keeps what emits the events of a call; returns `false` when nothing is to wait for. */
  hold(emit: () => void): boolean {
    if (this.#hasEnded) return this.#outer?.hold(emit) ?? false
    this.#events.push(emit)
    return true
  }

  /** Takes no more calls. Resolves when the last one has ended. */
  async close(): Promise<void> {
    this.#state = 'closed'
    await this.#last
  }

  /** Forgets the events that were held back; later ones, of work that goes on, are not its own. */
  discard(): void {
    this.#state = 'aborted'
    this.#events.length = 0
  }

  /** Emits the events that were held back, in their order. To be called after the commit. */
  release(): void {
    this.#state = 'committed'
    for (const emit of this.#events) {
      if (!this.hold(emit)) emit()
    }
  }

  get #hasEnded(): boolean {
    return this.#state === 'committed' || this.#state === 'aborted'
  }

  async #run<R>(call: () => Promise<R>): Promise<R> {
    // Its function may have ended it by the session.
    if (this.#state !== 'open' || !this.session.inTransaction()) {
      throw new Error('The transaction of this call has ended: await each call inside of it')
    }
    try {
      return await call()
    } catch (error) {
      const { cause } = error as Error
      if (isDriverError(cause) && endsTransaction(cause)) this.failure ??= cause
      throw error
    }
  }
}

/** The transaction that the code which is running belongs to. */
const running = new AsyncLocalStorage<RunningTransaction>()

/** Returns the transaction of a client that is running here. */
export function findTransaction(client: MongoClient): RunningTransaction | undefined {
  return running.getStore()?.findFor(client)
}

/**
 * Puts the session of the transaction that is running here into the options of a call, unless they
 * have another one. Returns the transaction that the call belongs to.
 */
export function joinTransaction(
  collection: Collection,
  driver: DriverOptions,
): RunningTransaction | undefined {
  const innermost = running.getStore()
  if (innermost === undefined) return undefined
  const transaction = innermost.findFor(collection.db.client)
  if (transaction === undefined) return undefined
  driver.session ??= transaction.session
  return driver.session === transaction.session ? transaction : undefined
}

/** Returns a new attempt of a transaction, inside of what is running here. */
export function startAttempt(session: ClientSession, client: MongoClient): RunningTransaction {
  // Programs without transactions have no gate: emitting costs them nothing.
  setEventGate((emit) => running.getStore()?.hold(emit) ?? false)
  return new RunningTransaction(session, client, running.getStore())
}

/** Runs a function and everything below it as a part of the transaction. */
export function runInside<R>(transaction: RunningTransaction, fn: () => R): R {
  return running.run(transaction, fn)
}
