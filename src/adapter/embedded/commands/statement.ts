import type { Document } from 'bson'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import type { CompileExpression, FilterOptions } from '../../matching/filter.ts'
import { compileVariables, createCompiler } from '../aggregation/expressions.ts'
import type { PipelineOptions } from '../aggregation/pipeline.ts'
import { compilePipeline } from '../aggregation/pipeline.ts'
import { createCollation } from '../protocol/collation-option.ts'
import type { Collection, View } from '../storage/collection.ts'
import { checkHint } from '../storage/select-records.ts'
import { checkNamespace } from '../storage/store.ts'
import { readTextSearch } from '../storage/text-index.ts'
import type { Updater } from '../updates/update.ts'
import { compileUpdate } from '../updates/update.ts'
import type { CommandContext } from './command.ts'

/** What one statement of a command needs to find documents, and to compute with `let`. */
export interface StatementOptions extends FilterOptions {
  readonly variables: () => Document
}

/**
 * Returns what a statement needs: its hint, its collation or the collection's, `let`, and the `$text`
 * of its filter.
 */
export function readStatement(
  statement: Document,
  collection: Collection,
  constants: unknown,
  filter: unknown,
): StatementOptions {
  const { collation: given, hint } = statement
  const text = readTextSearch(filter, collection.textIndex)
  const collation = given === undefined ? collection.collation : createCollation(given)
  if (text !== undefined) checkText(collation, hint)
  checkHint(hint, collection)
  const computeVariables = compileVariables(constants)
  let known: Document | undefined
  let compiler: CompileExpression | undefined
  const variables = (): Document => {
    known ??= computeVariables()
    return known
  }
  return {
    collation,
    variables,
    text,
    compileExpression: (expression) => {
      compiler ??= createCompiler(collation, variables())
      return compiler(expression)
    },
  }
}

function checkText(collation: Collation | undefined, hint: unknown): void {
  if (hint !== undefined) throw new CommandError(2, 'text and hint not allowed in same query')
  if (collation !== undefined) throw notSupported('$text with a collation')
}

/** Returns what a pipeline needs, for a statement. */
export function readPipelineOptions(
  { collation, variables }: StatementOptions,
  { store, database, transaction }: CommandContext,
): PipelineOptions {
  return {
    collation,
    variables: variables(),
    readCollection: (name) => {
      checkNamespace(database, name)
      return readDocuments(store.read(database, name, transaction))
    },
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
  // Conditions in an update apply to list items, and cannot include `$text`.
  const { text: _text, ...options } = statement
  return compileUpdate(update, {
    ...options,
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
  ...['$addFields', '$set', '$project', '$unset', '$replaceRoot', '$replaceWith'],
])
