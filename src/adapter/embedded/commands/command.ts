import type { Document } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import type { FieldTypes } from '../protocol/read-fields.ts'
import { readFields } from '../protocol/read-fields.ts'
import type { Cursors } from '../sessions/cursors.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import type { View } from '../storage/collection.ts'
import type { Store } from '../storage/store.ts'
import { checkNamespace } from '../storage/store.ts'
import type { Transaction } from '../storage/transaction.ts'

/** What a command works with, other than its own fields. */
export interface CommandContext {
  readonly store: Store
  readonly cursors: Cursors
  readonly sessions: Sessions
  readonly session: Session | undefined
  readonly transaction: Transaction | undefined
  readonly database: string
  /** The address that clients should connect to. */
  readonly address: string
}

/** One command. */
export interface Command {
  /**
   * The fields that the command accepts, in addition to its name and the fields common to all commands. Any other
   * field is rejected. Omitted only if no field has an effect: the command then accepts any field.
   */
  readonly fields?: FieldTypes
  /** Returns the body of the reply. @throws {CommandError} the command is rejected */
  readonly run: (command: Document, context: CommandContext) => Document | Promise<Document>
}

/** Commands by name. */
export type Commands = Readonly<Record<string, Command>>

/** Returns the collection that a field names. @throws {CommandError} 73 it names none */
export function readName(command: Document, field: string, { database }: CommandContext): string {
  const name: unknown = command[field]
  if (typeof name !== 'string') {
    throw new CommandError(73, `The command ${field} needs the name of a collection`)
  }
  checkNamespace(database, name)
  return name
}

/** Returns the collection that a field names, as the command sees it. @throws {CommandError} 73 */
export function readView(command: Document, field: string, context: CommandContext): View {
  const name = readName(command, field, context)
  return context.store.read(context.database, name, context.transaction)
}

/** Like {@link readView}, for writing: creates a missing collection. */
export function writeView(command: Document, field: string, context: CommandContext): View {
  const name = readName(command, field, context)
  return context.store.write(context.database, name, context.transaction)
}

/** Returns the size that a command's `cursor` asks for. @throws {CommandError} it is not valid */
export function readBatchSize({ cursor = {} }: Document): number | undefined {
  return readFields('cursor', cursor, { batchSize: 'number' }).batchSize
}
