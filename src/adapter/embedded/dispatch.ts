import type { Document } from 'bson'
import { Binary, Long, Timestamp } from 'bson'
import type { Command, CommandContext } from './command.ts'
import { AGGREGATE_COMMANDS } from './commands/aggregate.ts'
import { CATALOG_COMMANDS } from './commands/catalog.ts'
import { FIND_AND_MODIFY_COMMANDS } from './commands/find-and-modify.ts'
import { HANDSHAKE_COMMANDS } from './commands/handshake.ts'
import { INDEX_COMMANDS } from './commands/indexes.ts'
import { READ_COMMANDS } from './commands/read.ts'
import { WRITE_COMMANDS } from './commands/write.ts'
import { Cursors } from './cursors.ts'
import { CommandError, notSupported, toCommandError, toErrorReply } from './errors.ts'
import type { Session } from './sessions.ts'
import { readTransaction, Sessions } from './sessions.ts'
import { Store } from './store.ts'

/** A Map, so that names such as `constructor` find nothing. */
const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries({
    ...HANDSHAKE_COMMANDS,
    ...READ_COMMANDS,
    ...WRITE_COMMANDS,
    ...FIND_AND_MODIFY_COMMANDS,
    ...AGGREGATE_COMMANDS,
    ...CATALOG_COMMANDS,
    ...INDEX_COMMANDS,
  }),
)

const IN_TRANSACTIONS: ReadonlySet<string> = new Set([
  'find',
  'getMore',
  'killCursors',
  'insert',
  'update',
  'delete',
  'findAndModify',
  'aggregate',
  'distinct',
  'commitTransaction',
  'abortTransaction',
])

/** One server's data and the way commands get to it. */
export class Dispatcher {
  readonly #store = new Store()
  readonly #cursors = new Cursors()
  readonly #sessions = new Sessions(this.#store.clock)
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  /** Returns the whole reply to a command; a refusal is a reply too. */
  async run(readBody: () => Document): Promise<Document> {
    let isTransaction = false
    try {
      const command = readBody()
      isTransaction = command.autocommit === false
      const reply = await this.#runNumbered(command)
      return { ...reply, ...this.#createTimes(), ...checkWriteConcern(command) }
    } catch (error) {
      return { ...toErrorReply(toCommandError(error), isTransaction), ...this.#createTimes() }
    }
  }

  /** Ends all sessions and cursors. */
  close(): void {
    this.#sessions.endAll()
    this.#cursors.clear()
  }

  /** A numbered command is a retryable write or belongs to a transaction. */
  async #runNumbered(command: Document): Promise<Document> {
    const name = Object.keys(command)[0] ?? ''
    const { lsid, txnNumber, autocommit, startTransaction } = command
    const session = this.#sessions.find(lsid)
    if (session === undefined || typeof txnNumber !== 'number') {
      return await this.#runNamed(name, command, { session, transaction: undefined })
    }
    if (autocommit === false) {
      if (startTransaction === true) this.#sessions.begin(session, txnNumber, true)
      return await this.#runInTransaction(name, command, session, txnNumber)
    }
    if (txnNumber === session.txnNumber && session.reply !== undefined) return session.reply
    if (txnNumber !== session.txnNumber) this.#sessions.begin(session, txnNumber, false)
    const reply = await this.#runNamed(name, command, { session, transaction: undefined })
    // The session may have gone on to its next number while this write waited for a lock.
    if (session.txnNumber === txnNumber) session.reply = reply
    return reply
  }

  async #runInTransaction(
    name: string,
    command: Document,
    session: Session,
    txnNumber: number,
  ): Promise<Document> {
    if (name === 'commitTransaction' && session.isCommitted && session.txnNumber === txnNumber) {
      return { ok: 1 }
    }
    const transaction = readTransaction(session, txnNumber)
    if (name === 'abortTransaction') transaction.abort()
    if (name === 'commitTransaction') {
      transaction.commit()
      session.isCommitted = true
    }
    if (name === 'abortTransaction' || name === 'commitTransaction') return { ok: 1 }
    try {
      if (!IN_TRANSACTIONS.has(name)) {
        throw new CommandError(263, `Cannot run '${name}' in a multi-document transaction.`)
      }
      return await this.#runNamed(name, command, { session, transaction })
    } catch (error) {
      transaction.abort()
      throw error
    }
  }

  async #runNamed(
    name: string,
    command: Document,
    scope: Pick<CommandContext, 'session' | 'transaction'>,
  ): Promise<Document> {
    const run = COMMANDS.get(name)
    if (run === undefined) throw notSupported(`The command '${name}'`, 59)
    const database: unknown = command.$db
    if (typeof database !== 'string') throw new CommandError(40571, "The command needs '$db'")
    return await run(command, {
      ...scope,
      store: this.#store,
      cursors: this.#cursors,
      sessions: this.#sessions,
      address: this.#address,
      database,
    })
  }

  /** Drivers send these back, which is how they keep their reads after their writes. */
  #createTimes(): Document {
    const seconds = Math.floor(Date.now() / 1000)
    const clusterTime = new Timestamp({ t: seconds, i: this.#store.clock.time >>> 0 })
    const signature = { hash: new Binary(new Uint8Array(20)), keyId: Long.ZERO }
    return { $clusterTime: { clusterTime, signature }, operationTime: clusterTime }
  }
}

function checkWriteConcern({ writeConcern }: Document): Document {
  const w: unknown = writeConcern?.w
  if (typeof w !== 'number' || w <= 1) return {}
  const errmsg = 'Not enough data-bearing nodes'
  return { writeConcernError: { code: 100, codeName: 'UnsatisfiableWriteConcern', errmsg } }
}
