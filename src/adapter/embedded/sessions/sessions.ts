import type { Document } from 'bson'
import { Binary, Long } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import { readFields } from '../protocol/read-fields.ts'
import type { Clock } from '../storage/collection.ts'
import { Transaction } from '../storage/transaction.ts'

/** How long an unused session is kept. */
export const SESSION_TIMEOUT_MINUTES = 30
const TIMEOUT_MS = SESSION_TIMEOUT_MINUTES * 60_000
const MAX_SESSIONS = 10_000
const UUID_SUBTYPE = 4

/** The remembered state of a client's session: its last numbered write or transaction. */
export interface Session {
  txnNumber: number
  /** The reply to the last retryable write, for a client that sends the same write again. */
  reply: Document | undefined
  transaction: Transaction | undefined
  isCommitted: boolean
  /** In ms since the epoch. */
  usedAt: number
}

/** The sessions of all clients, by the ids the clients have chosen. */
export class Sessions {
  readonly #clock: Clock
  readonly #now: () => number
  readonly #onEnd: (session: Session) => void
  /** By their keys, in the order of their last use. */
  readonly #sessions: Map<string, Session> = new Map()

  /** `onEnd` is called with each session that has ended, `now` returns the time in ms. */
  constructor(clock: Clock, now: () => number, onEnd: (session: Session) => void) {
    this.#clock = clock
    this.#now = now
    this.#onEnd = onEnd
  }

  get count(): number {
    return this.#sessions.size
  }

  /**
   * Returns the session of a command, `undefined` if it names none.
   * @throws {CommandError} 261 there are too many
   */
  find(lsid: unknown): Session | undefined {
    this.#expire()
    if (lsid === undefined) return undefined
    const key = toKey(lsid)
    const known = this.#sessions.get(key)
    if (known === undefined && this.#sessions.size >= MAX_SESSIONS) {
      throw new CommandError(261, `There are already ${MAX_SESSIONS} sessions`)
    }
    const session = known ?? {
      txnNumber: -1,
      reply: undefined,
      transaction: undefined,
      isCommitted: false,
      usedAt: 0,
    }
    this.#touch(key, session)
    return session
  }

  end(lsid: unknown): void {
    this.#remove(toKey(lsid))
  }

  endAll(): void {
    for (const key of [...this.#sessions.keys()]) this.#remove(key)
  }

  /** Begins a numbered write or transaction. @throws {CommandError} 225, 50911 the number is old */
  begin(session: Session, txnNumber: number, isTransaction: boolean): void {
    if (txnNumber < session.txnNumber) {
      const message = `Cannot start transaction ${txnNumber}: ${session.txnNumber} has begun`
      throw new CommandError(225, message)
    }
    if (isTransaction && txnNumber === session.txnNumber) {
      throw new CommandError(50911, `Cannot start transaction ${txnNumber}: it has begun already`)
    }
    session.transaction?.abort()
    session.txnNumber = txnNumber
    session.reply = undefined
    session.isCommitted = false
    session.transaction = isTransaction ? new Transaction(this.#clock) : undefined
  }

  #touch(key: string, session: Session): void {
    session.usedAt = this.#now()
    this.#sessions.delete(key)
    this.#sessions.set(key, session)
  }

  #expire(): void {
    const oldest = this.#now() - TIMEOUT_MS
    for (const [key, { usedAt }] of this.#sessions) {
      if (usedAt > oldest) return
      this.#remove(key)
    }
  }

  #remove(key: string): void {
    const session = this.#sessions.get(key)
    if (session === undefined) return
    this.#sessions.delete(key)
    session.transaction?.abort()
    this.#onEnd(session)
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

/** In MongoDB a session also belongs to a user; without authentication there is only one. */
function toKey(lsid: unknown): string {
  const { id } = readFields('lsid', lsid, { id: 'any', uid: 'refused' })
  if (!(id instanceof Binary) || id.sub_type !== UUID_SUBTYPE || id.length() !== 16) {
    throw new CommandError(14, "'lsid.id' must be a UUID")
  }
  return id.toString('hex')
}

/** A command's place in its session: a retryable write, or part of a transaction. */
interface Numbering {
  /** The number of the retryable write or of the transaction. */
  readonly txnNumber: number | undefined
  readonly isTransaction: boolean
  /** Whether the command is the first one of its transaction. */
  readonly starts: boolean
}

/** Returns the numbering of a command. @throws {CommandError} its fields contradict each other */
export function readNumbering(command: Document): Numbering {
  const { lsid, txnNumber: given, autocommit, startTransaction } = command
  const number = given instanceof Long ? Number(given) : given
  if (given !== undefined && !(Number.isSafeInteger(number) && number >= 0)) {
    throw new CommandError(14, "'txnNumber' must be a whole number of at least 0")
  }
  const wrong =
    (given !== undefined && lsid === undefined && "'txnNumber' needs 'lsid'") ||
    (autocommit !== undefined && given === undefined && "'autocommit' needs 'txnNumber'") ||
    (autocommit === true && "'autocommit' must be false") ||
    (startTransaction !== undefined &&
      autocommit !== false &&
      "'startTransaction' needs 'autocommit: false'") ||
    (startTransaction === false && "'startTransaction' must be true")
  if (wrong !== false) throw new CommandError(72, wrong)
  return {
    txnNumber: number,
    isTransaction: autocommit === false,
    starts: startTransaction === true,
  }
}
