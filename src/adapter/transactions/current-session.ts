import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientSession, Collection, MongoClient } from 'mongodb'

import { setEventGate } from '../../core/events/service-events.ts'
import type { DriverOptions } from '../driver-options.ts'
import { RunningTransaction } from './running-transaction.ts'

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
