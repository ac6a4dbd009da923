import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { compilePipeline } from '../aggregation/pipeline.ts'
import { withTimeLimit } from '../limits.ts'
import { fieldsOf, readFields, refuse } from '../protocol/read-fields.ts'
import { whenUnlocked } from '../storage/collection.ts'
import type { Page } from '../storage/select-records.ts'
import { select } from '../storage/select-records.ts'
import { applyUpdates, insertDocument } from '../storage/write-records.ts'
import type { CommandContext, Commands } from './command.ts'
import { readBatchSize, readView } from './command.ts'
import { readPipelineOptions, readStatement } from './statement.ts'

/** The command that runs a pipeline. */
export const AGGREGATE_COMMANDS: Commands = {
  aggregate: {
    fields: {
      pipeline: 'array',
      ...fieldsOf('object', 'cursor', 'let', 'collation'),
      hint: 'any',
      explain: 'refused',
      // These have no effect: all data is in memory, and there are no validators.
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
  const first: Document = isDocument(pipeline[0]) ? pipeline[0] : {}
  const [stage = '$documents'] = Object.keys(first)
  if (stage === '$changeStream') throw notSupported("watch(), a stream by '$changeStream',", 40324)
  // 1 instead of a collection name.
  if (command.aggregate === 1) throw notSupported(`A pipeline on a database, by ${stage}`, 73)
  const view = readView(command, 'aggregate', context)
  const filter: Document | undefined = isDocument(first.$match) ? first.$match : undefined
  const statement = readStatement(command, view.collection, command.let, filter)
  const last: unknown = pipeline.at(-1)
  const output = isDocument(last) && ('$out' in last || '$merge' in last) ? last : undefined
  const stages: Document[] = output === undefined ? pipeline : pipeline.slice(0, -1)
  const results = withTimeLimit(command, command.maxTimeMS, () => {
    const options = readPipelineOptions(statement, context)
    // Compiled as a whole, so that an error in a later stage is found before any work.
    const rest = stages.slice(filter === undefined ? 0 : 1)
    const matched = filter === undefined ? rest : [{ ...first, $match: {} }, ...rest]
    const run = compilePipeline(matched, options)
    // The first stages only help the collection to plan the read; they do not change its result.
    return run(select(view, filter ?? {}, statement, readPage(rest)))
  })
  const { namespace } = view.collection
  if (output === undefined) return context.cursors.open(namespace, results, { batchSize, context })
  await whenUnlocked(() => writeOutput(results, output, context))
  return context.cursors.open(namespace, [], { batchSize, context })
}

/** Returns the order and the limit of the first stages, if they have a limit. */
function readPage([first = {}, second = {}]: readonly Document[]): Page {
  const { $sort: sort = {} } = first
  const { $limit: limit } = '$sort' in first ? second : first
  return limit === undefined ? {} : { sort, limit }
}

/** Writes the results of a pipeline as specified by its last stage, `$out` or `$merge`. */
function writeOutput(results: readonly Document[], stage: Document, context: CommandContext): void {
  if (context.transaction !== undefined) {
    throw new CommandError(263, 'Stages that write are not allowed in a transaction')
  }
  if ('$out' in stage) replaceCollection(results, readTarget('$out', stage.$out), context)
  else merge(results, stage.$merge, context)
}

/** Returns the collection that results are written to: one of the same database. */
function readTarget(stage: string, target: unknown): string {
  if (typeof target === 'string') return target
  throw notSupported(`A target of ${stage} that is no string`)
}

function replaceCollection(
  results: readonly Document[],
  name: string,
  { store, database }: CommandContext,
): void {
  const old = store.find(database, name)
  old?.checkUnlocked()
  const fresh = store.createDetached(database, name, old?.options ?? {})
  for (const spec of old?.indexes.values() ?? []) fresh.addIndex(spec)
  for (const document of results) insertDocument(fresh, document)
  store.put(database, name, fresh)
}

const MERGE_FIELDS = {
  into: 'any',
  ...refuse('on', 'whenMatched', 'whenNotMatched', 'let'),
} as const

/** Merges each result into the document with its `_id`, or inserts it if there is none. */
function merge(results: readonly Document[], spec: unknown, context: CommandContext): void {
  const options = readFields('$merge', isDocument(spec) ? spec : { into: spec }, MERGE_FIELDS)
  const name = readTarget('$merge', options.into)
  const view = context.store.write(context.database, name, undefined)
  for (const document of results) {
    const key = view.collection.keyOf(document._id)
    const before = document._id === undefined ? undefined : view.get(key)
    if (before === undefined) insertDocument(view, document)
    else {
      const { _id, ...fields } = document
      applyUpdates(view, [{ key, before, after: { ...before, ...fields } }])
    }
  }
}
