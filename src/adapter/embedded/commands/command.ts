import type { Document } from 'bson'
import { createCollation } from '../protocol/collation-option.ts'
import type { Collection, View } from '../storage/collection.ts'
import type { Cursors } from '../sessions/cursors.ts'
import { CommandError } from '../errors/command-error.ts'
import type { CompileExpression } from '../aggregation/expressions.ts'
import { createCompiler, readVariables } from '../aggregation/expressions.ts'
import type { FieldTypes } from '../protocol/read-fields.ts'
import { readHint } from '../storage/index-hint.ts'
import type { PipelineOptions } from '../aggregation/pipeline.ts'
import { compilePipeline } from '../aggregation/pipeline.ts'
import type { SelectOptions } from '../storage/select-records.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import type { Store } from '../storage/store.ts'
import type { Transaction } from '../storage/transaction.ts'
import type { Updater } from '../updates/update.ts'
import { compileUpdate } from '../updates/update.ts'

/** What a command works with beside its own fields. */
export interface CommandContext {
  readonly store: Store
  readonly cursors: Cursors
  readonly sessions: Sessions
  readonly session: Session | undefined
  readonly transaction: Transaction | undefined
  readonly database: string
  /** The address that clients are told to connect to. */
  readonly address: string
}

/** One command. */
export interface Command {
  /**
   * The fields it takes beside its own name and those of every command; all others are refused.
   * Without a table it takes any: only where a field can change nothing.
   */
  readonly fields?: FieldTypes
  /** Returns the body of the reply. @throws {CommandError} the command is refused */
  readonly run: (command: Document, context: CommandContext) => Document | Promise<Document>
}

/** Commands by their names. */
export type Commands = Readonly<Record<string, Command>>

/** Returns the name of a collection in a field of a command. @throws {CommandError} 73 there is none */
export function readName(command: Document, field: string): string {
  const name: unknown = command[field]
  if (typeof name === 'string' && name !== '') return name
  throw new CommandError(73, `The command ${field} needs the name of a collection`)
}

/** What one statement of a command needs: to find documents, and to compute with `let`. */
export interface StatementOptions extends SelectOptions {
  readonly variables: () => Document
}

/** Returns what a statement needs: its hint, its collation or the collection's, and `let`. */
export function readStatement(
  statement: Document,
  collection: Collection,
  constants: unknown,
): StatementOptions {
  const { collation: given, hint } = statement
  const collation = given === undefined ? collection.collation : createCollation(given)
  let known: Document | undefined
  let compiler: CompileExpression | undefined
  const variables = (): Document => {
    known ??= readVariables(constants)
    return known
  }
  return {
    collation,
    variables,
    ...(hint === undefined ? {} : { hint: readHint(hint, collection) }),
    compileExpression: (expression) => {
      compiler ??= createCompiler(collation, variables())
      return compiler(expression)
    },
  }
}

/** Returns what a pipeline needs, for the same statement. */
export function readPipelineOptions(
  { collation, variables }: StatementOptions,
  { store, database, transaction }: CommandContext,
): PipelineOptions {
  return {
    collation,
    variables: variables(),
    readCollection: (name) => readDocuments(store.read(database, name, transaction)),
  }
}

/** Returns all documents of a view in natural order. */
export function readDocuments(view: View): Document[] {
  return Array.from(view.entries(), ([, document]) => document)
}

/** Returns an update, which may be a pipeline, as a function. */
export function readUpdate(
  update: unknown,
  filter: Document,
  arrayFilters: unknown,
  statement: StatementOptions,
  context: CommandContext,
): Updater {
  return compileUpdate(update, {
    ...statement,
    filter,
    arrayFilters,
    now: new Date(),
    compilePipeline: (pipeline) => {
      const wrong = pipeline
        .flatMap((stage) => Object.keys(stage))
        .find((name) => !UPDATE_STAGES.has(name))
      if (wrong !== undefined) {
        throw new CommandError(72, `${wrong} is not allowed to be used within an update`)
      }
      const run = compilePipeline(pipeline, readPipelineOptions(statement, context))
      return (document) => run([document])[0] ?? document
    },
  })
}

const UPDATE_STAGES: ReadonlySet<string> = new Set([
  '$addFields',
  '$set',
  '$project',
  '$unset',
  '$replaceRoot',
  '$replaceWith',
])
