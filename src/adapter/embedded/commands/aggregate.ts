import type { Document } from 'bson'
import type { Command, CommandContext } from '../command.ts'
import {
  checkHint,
  readDocuments,
  readMatchOptions,
  readName,
  readPipelineOptions,
  refuseOptions,
} from '../command.ts'
import { isDocument } from '../compare.ts'
import { CommandError } from '../errors.ts'
import { whenUnlocked } from '../lock.ts'
import { isOutputStage, writeOutput } from '../output.ts'
import { runPipeline } from '../pipeline.ts'
import { withTimeLimit } from '../regular-expression.ts'
import { select } from '../select.ts'

/** The command that runs a pipeline. */
export const AGGREGATE_COMMANDS: Readonly<Record<string, Command>> = { aggregate }

async function aggregate(command: Document, context: CommandContext): Promise<Document> {
  refuseOptions(command, ['explain'])
  const { pipeline } = command
  if (!Array.isArray(pipeline)) throw new CommandError(14, "'pipeline' must be an array")
  if (!isDocument(command.cursor)) throw new CommandError(9, "The 'cursor' option is required")
  // The number 1 stands for a pipeline without a collection, which makes its own documents.
  const name = command.aggregate === 1 ? '$cmd.aggregate' : readName(command, 'aggregate')
  const view = context.store.read(context.database, name, context.transaction)
  checkHint(command.hint, view.collection)
  const match = readMatchOptions(command, view.collection, command.let)
  const last: unknown = pipeline.at(-1)
  const output = isDocument(last) && isOutputStage(last) ? last : undefined
  const stages: Document[] = output === undefined ? pipeline : pipeline.slice(0, -1)
  const results = withTimeLimit(command, command.maxTimeMS, () => {
    const options = readPipelineOptions(match, command.let, context)
    const filter: unknown = stages[0]?.$match
    const startsWithMatch = filter !== undefined && Object.keys(stages[0] ?? {}).length === 1
    if (!startsWithMatch) return runPipeline(readDocuments(view), stages, options)
    // The first filter can find records by key, as `find` does.
    const found = Array.from(select(view, filter, match), ([, document]) => document)
    return runPipeline(found, stages.slice(1), options)
  })
  const { namespace } = view.collection
  const { batchSize } = command.cursor
  if (output === undefined) return context.cursors.open(namespace, results, { batchSize })
  await whenUnlocked(() => writeOutput(results, output, context))
  return context.cursors.open(namespace, [], { batchSize })
}
