import type { Document } from 'bson'
import { createCollation } from './collation.ts'
import type { Collection, View } from './collection.ts'
import { isEqual } from './compare.ts'
import type { Cursors } from './cursors.ts'
import { CommandError, notSupported } from './errors.ts'
import { createEvaluator, evaluate } from './expressions.ts'
import type { MatchOptions } from './match.ts'
import type { PipelineOptions } from './pipeline.ts'
import { runPipeline } from './pipeline.ts'
import type { Session, Sessions } from './sessions.ts'
import type { Store } from './store.ts'
import type { Transaction } from './transaction.ts'
import type { Updater } from './update.ts'
import { compileUpdate } from './update.ts'

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

/** Returns the body of the reply. @throws {CommandError} the command is refused */
export type Command = (command: Document, context: CommandContext) => Document | Promise<Document>

/** Returns the collection a command names. @throws {CommandError} 73 it names none */
export function readName(command: Document, field: string): string {
  const name: unknown = command[field]
  if (typeof name === 'string' && name !== '') return name
  throw new CommandError(73, `The command ${field} needs the name of a collection`)
}

/** Returns what a filter needs: the statement's collation or the collection's, and `let`. */
export function readMatchOptions(
  statement: Document,
  collection: Collection,
  constants: unknown,
): MatchOptions {
  const given: unknown = statement.collation
  const collation = given === undefined ? collection.collation : createCollation(given)
  let evaluator: MatchOptions['evaluate'] | undefined
  return {
    collation,
    evaluate: (document, expression) => {
      evaluator ??= createEvaluator(collation, readVariables(constants))
      return evaluator(document, expression)
    },
  }
}

/** Returns what a pipeline needs, for the same statement. */
export function readPipelineOptions(
  { collation }: MatchOptions,
  constants: unknown,
  { store, database, transaction }: CommandContext,
): PipelineOptions {
  return {
    collation,
    variables: readVariables(constants),
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
  match: MatchOptions,
  constants: unknown,
  context: CommandContext,
): Updater {
  return compileUpdate(update, {
    ...match,
    filter,
    arrayFilters: Array.isArray(arrayFilters) ? arrayFilters : [],
    now: new Date(),
    runPipeline: (document, pipeline) => {
      const wrong = pipeline
        .flatMap((stage) => Object.keys(stage))
        .find((name) => !UPDATE_STAGES.has(name))
      if (wrong !== undefined)
        throw new CommandError(72, `${wrong} is not allowed to be used within an update`)
      const options = readPipelineOptions(match, constants, context)
      return runPipeline([document], pipeline, options)[0] ?? document
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

/** @throws {CommandError} 2 the hint names no index; what it names never changes a result here */
export function checkHint(hint: unknown, collection: Collection): void {
  if (hint === undefined || collection.records.size === 0) return
  const isKnown = [...collection.indexes.values()].some(
    ({ name, key }) => name === hint || isEqual(key, hint),
  )
  if (!isKnown && !isEqual(hint, { $natural: 1 }) && !isEqual(hint, { $natural: -1 })) {
    throw new CommandError(2, 'hint provided does not correspond to an existing index')
  }
}

/** @throws {CommandError} 72 the command has an option that would silently have no effect */
export function refuseOptions(command: Document, names: readonly string[]): void {
  const name = names.find((option) => command[option] !== undefined && command[option] !== false)
  if (name !== undefined) throw notSupported(`The option '${name}'`, 72)
}

function readVariables(constants: unknown): Document {
  const values = Object.entries((constants ?? {}) as Document)
  return Object.fromEntries(values.map(([name, value]) => [name, evaluate({}, value)]))
}
