import type { Document } from 'bson'
import type { Clock } from './collection.ts'
import { isDocument, keyOf } from './compare.ts'
import { CommandError } from './errors.ts'
import { Transaction } from './transaction.ts'

/** What is remembered of a client's session: its last numbered write or transaction. */
export interface Session {
  txnNumber: number
  /** The reply to the last numbered write, given again where the client asks again. */
  reply: Document | undefined
  transaction: Transaction | undefined
  isCommitted: boolean
}

/** The sessions of all clients, by the ids the clients have chosen. */
export class Sessions {
  readonly #clock: Clock
  readonly #sessions: Map<string, Session> = new Map()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the session of a command, `undefined` where it names none. */
  find(lsid: unknown): Session | undefined {
    if (lsid === undefined) return undefined
    const key = toKey(lsid)
    const known = this.#sessions.get(key)
    if (known !== undefined) return known
    const session: Session = {
      txnNumber: -1,
      reply: undefined,
      transaction: undefined,
      isCommitted: false,
    }
    this.#sessions.set(key, session)
    return session
  }

  end(lsid: unknown): void {
    const key = toKey(lsid)
    this.#sessions.get(key)?.transaction?.abort()
    this.#sessions.delete(key)
  }

  endAll(): void {
    for (const { transaction } of this.#sessions.values()) transaction?.abort()
    this.#sessions.clear()
  }

  /** Begins a numbered write or transaction. @throws {CommandError} 225 the number is an old one */
  begin(session: Session, txnNumber: number, isTransaction: boolean): void {
    if (txnNumber < session.txnNumber) {
      throw new CommandError(
        225,
        `Cannot start transaction ${txnNumber}: ${session.txnNumber} has begun`,
      )
    }
    session.transaction?.abort()
    session.txnNumber = txnNumber
    session.reply = undefined
    session.isCommitted = false
    session.transaction = isTransaction ? new Transaction(this.#clock) : undefined
  }
}

/** Returns the open transaction with this number. @throws {CommandError} 251, 256 it has ended */
export function readTransaction(session: Session, txnNumber: number): Transaction {
  const isCurrent = session.txnNumber === txnNumber
  if (isCurrent && session.isCommitted) {
    throw new CommandError(256, `Transaction ${txnNumber} has been committed`)
  }
  if (isCurrent && session.transaction?.isOpen === true) return session.transaction
  const message = `Given transaction number ${txnNumber} does not match any in-progress transactions`
  throw new CommandError(251, message)
}

function toKey(lsid: unknown): string {
  if (!isDocument(lsid)) throw new CommandError(14, "'lsid' must be an object")
  return keyOf(lsid.id)
}
