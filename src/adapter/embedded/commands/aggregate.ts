import type { Document } from 'bson'
import { compilePipeline } from '../aggregation/pipeline.ts'
import { CommandError, notSupported } from '../errors/command-error.ts'
import { withTimeLimit } from '../limits/work-limits.ts'
import { select } from '../storage/select-records.ts'
import { whenUnlocked } from '../storage/write-lock.ts'
import { isDocument } from '../values/bson-type.ts'
import type { CommandContext, Commands } from './command.ts'
import { readBatchSize, readName } from './command.ts'
import { isOutputStage, writeOutput } from './output-stages.ts'
import { readDocuments, readPipelineOptions, readStatement } from './statement.ts'

/** The command that runs a pipeline. */
export const AGGREGATE_COMMANDS: Commands = {
  aggregate: {
    fields: {
      pipeline: 'array',
      cursor: 'object',
      let: 'object',
      hint: 'any',
      collation: 'object',
      explain: 'refused',
      // They change nothing here: all is in memory, and there are no validators.
      allowDiskUse: 'bool',
      bypassDocumentValidation: 'bool',
    },
    run: aggregate,
  },
}

async function aggregate(command: Document, context: CommandContext): Promise<Document> {
  const { pipeline } = command
  if (pipeline === undefined) throw new CommandError(40414, "BSON field 'pipeline' is missing")
  if (command.cursor === undefined) throw new CommandError(9, "The 'cursor' option is required")
  const batchSize = readBatchSize(command)
  // The number 1 in place of a collection.
  if (command.aggregate === 1) throw notSupported('A pipeline that begins with $documents', 73)
  const name = readName(command, 'aggregate')
  const view = context.store.read(context.database, name, context.transaction)
  const first: Document = isDocument(pipeline[0]) ? pipeline[0] : {}
  const { $match: filter } = first
  const statement = readStatement(command, view.collection, command.let, filter)
  const last: unknown = pipeline.at(-1)
  const output = isDocument(last) && isOutputStage(last) ? last : undefined
  const stages: Document[] = output === undefined ? pipeline : pipeline.slice(0, -1)
  const results = withTimeLimit(command, command.maxTimeMS, () => {
    const options = readPipelineOptions(statement, context)
    // Compiled as a whole, so that an error in a later stage is found before any work.
    if (filter === undefined) {
      const hint = statement.hint ?? (() => true)
      return compilePipeline(stages, options)(readDocuments(view).filter(hint))
    }
    // The first filter can find records by key and by words, as `find` does.
    const run = compilePipeline([{ ...first, $match: {} }, ...stages.slice(1)], options)
    return run(Array.from(select(view, filter, statement), ([, document]) => document))
  })
  const { namespace } = view.collection
  if (output === undefined) return context.cursors.open(namespace, results, { batchSize, context })
  await whenUnlocked(() => writeOutput(results, output, context))
  return context.cursors.open(namespace, [], { batchSize, context })
}
