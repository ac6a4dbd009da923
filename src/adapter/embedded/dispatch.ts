import type { Document } from 'bson'
import { Binary, Long, Timestamp } from 'bson'
import { CommandError, notSupported } from '../matching/command-error.ts'
import { isTrue } from '../matching/compare.ts'
import { AGGREGATE_COMMANDS } from './commands/aggregate.ts'
import { CATALOG_COMMANDS } from './commands/catalog.ts'
import type { Command, CommandContext } from './commands/command.ts'
import { CONNECTION_COMMANDS } from './commands/connection.ts'
import { INDEX_COMMANDS } from './commands/indexes.ts'
import { READ_COMMANDS } from './commands/read.ts'
import { WRITE_COMMANDS } from './commands/write.ts'
import { toCommandError, toErrorReply } from './errors.ts'
import { COMMON_FIELDS, checkCommonFields, readFields } from './protocol/read-fields.ts'
import { Cursors } from './sessions/cursors.ts'
import type { Session } from './sessions/sessions.ts'
import { readNumbering, readTransaction, Sessions } from './sessions/sessions.ts'
import { Store, startExpiry } from './storage/store.ts'

/** The commands that a transaction may have. */
const IN_TRANSACTIONS: ReadonlySet<string> = new Set([
  ...['find', 'getMore', 'killCursors', 'insert', 'update', 'delete', 'findAndModify'],
  ...['aggregate', 'distinct', 'commitTransaction', 'abortTransaction'],
])

/** Runs commands on the data of one server. */
export class Dispatcher {
  readonly #store: Store
  readonly #cursors: Cursors
  readonly #sessions: Sessions
  readonly #expiry: NodeJS.Timeout
  readonly #address: string

  /** `now` returns the time in ms; idle sessions and cursors and expired records are removed by it. */
  constructor(address: string, now: () => number = Date.now, store: Store = new Store()) {
    this.#address = address
    this.#store = store
    this.#cursors = new Cursors(now)
    this.#expiry = startExpiry(this.#store, now)
    this.#sessions = new Sessions(this.#store.clock, now, (session) => {
      this.#cursors.killOf(session)
    })
  }

  /** How much is currently kept for clients. */
  get counts(): {
    readonly sessions: number
    readonly cursors: number
    readonly transactions: number
  } {
    const transactions = this.#store.clock.open.size
    return { sessions: this.#sessions.count, cursors: this.#cursors.count, transactions }
  }

  /** Returns the whole reply to a command; an error is a reply too. */
  async run(readBody: () => Document): Promise<Document> {
    let isTransaction = false
    try {
      const body = readBody()
      isTransaction = body.autocommit === false
      const name = Object.keys(body)[0] ?? ''
      const { fields } = findCommand(name)
      const command = fields === undefined ? body : (readFields(name, body, fields) as Document)
      if (fields !== undefined) {
        checkCommonFields(command)
        // Reads must not see writes that the disk rejected: they may be gone at the next start.
        this.#store.clock.changes.flush(false)
      }
      const reply = await this.#runNumbered(name, command)
      if (fields !== undefined) this.#store.clock.changes.flush(isJournaled(command))
      return { ...reply, ...this.#createTimes(), ...reportWriteConcern(command) }
    } catch (error) {
      return { ...toErrorReply(toCommandError(error), isTransaction), ...this.#createTimes() }
    }
  }

  /** Ends all sessions and cursors. */
  close(): void {
    clearInterval(this.#expiry)
    this.#sessions.endAll()
    this.#cursors.clear()
  }

  /** A numbered command is a retryable write or belongs to a transaction. */
  async #runNumbered(name: string, command: Document): Promise<Document> {
    const { txnNumber, isTransaction, starts } = readNumbering(command)
    const session = this.#sessions.find(command.lsid)
    if (session === undefined || txnNumber === undefined) {
      return await this.#runNamed(name, command, { session, transaction: undefined })
    }
    if (isTransaction) {
      if (starts) this.#sessions.begin(session, txnNumber, true)
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
    const database: unknown = command.$db
    if (typeof database !== 'string') throw new CommandError(40571, "The command needs '$db'")
    return await findCommand(name).run(command, {
      ...scope,
      store: this.#store,
      cursors: this.#cursors,
      sessions: this.#sessions,
      address: this.#address,
      database,
    })
  }

  /** Returns the cluster times of a reply: drivers send them back, so that reads see earlier writes. */
  #createTimes(): Document {
    const seconds = Math.floor(Date.now() / 1000)
    const clusterTime = new Timestamp({ t: seconds, i: this.#store.clock.time >>> 0 })
    const signature = { hash: new Binary(new Uint8Array(20)), keyId: Long.ZERO }
    return { $clusterTime: { clusterTime, signature }, operationTime: clusterTime }
  }
}

/**
 * Returns whether a write has to be on the disk before it is acknowledged.
 * @see https://www.mongodb.com/docs/v7.0/reference/write-concern/#acknowledgment-behavior
 */
function isJournaled({ writeConcern }: Document): boolean {
  return isTrue(writeConcern?.j) || writeConcern?.w === 'majority'
}

/** Returns the reply's `writeConcernError` if more members are required than exist. */
function reportWriteConcern({ writeConcern }: Document): Document {
  const w: unknown = writeConcern?.w
  if (typeof w !== 'number' || w <= 1) return {}
  const errmsg = 'Not enough data-bearing nodes'
  return { writeConcernError: { code: 100, codeName: 'UnsatisfiableWriteConcern', errmsg } }
}

/** All commands by name. A Map, so that names such as `constructor` find nothing. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries<Command>({
    ...CONNECTION_COMMANDS,
    ...READ_COMMANDS,
    ...WRITE_COMMANDS,
    ...AGGREGATE_COMMANDS,
    ...CATALOG_COMMANDS,
    ...INDEX_COMMANDS,
  }).map(([name, { fields, run }]) => [
    name,
    fields === undefined
      ? { run }
      : { fields: { ...COMMON_FIELDS, [name]: 'any', ...fields }, run },
  ]),
)

/** Returns the command with this name. @throws {CommandError} 59 there is none */
function findCommand(name: string): Command {
  const command = COMMANDS.get(name)
  if (command === undefined) throw notSupported(`The command '${name}'`, 59)
  return command
}
