import type { Document } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import { valuesByKey } from '../../matching/compare.ts'
import { valuesAt } from '../../matching/field-paths.ts'
import { withTimeLimit } from '../limits.ts'
import { fieldsOf, readCount, refuse } from '../protocol/read-fields.ts'
import { compileProjection } from '../queries/projection.ts'
import { select } from '../storage/select-records.ts'
import type { CommandContext, Commands } from './command.ts'
import { readView } from './command.ts'
import { readStatement } from './statement.ts'

/** Commands that read one collection. */
export const READ_COMMANDS: Commands = {
  find: {
    fields: {
      ...fieldsOf('object', 'filter', 'projection', 'sort', 'collation', 'let'),
      ...fieldsOf('number', 'skip', 'limit', 'batchSize'),
      singleBatch: 'bool',
      hint: 'any',
      ...refuse('noCursorTimeout', 'tailable', 'awaitData', 'min', 'max', 'returnKey'),
      ...refuse('showRecordId'),
      // These have no effect: all data is in memory, and nothing is sharded.
      ...fieldsOf('bool', 'allowDiskUse', 'allowPartialResults', 'oplogReplay'),
    },
    run: find,
  },
  count: {
    fields: {
      ...fieldsOf('object', 'query', 'collation'),
      ...fieldsOf('number', 'skip', 'limit'),
      hint: 'any',
    },
    run: count,
  },
  distinct: {
    fields: { key: 'string', query: 'object', hint: 'any', collation: 'object' },
    run: distinct,
  },
}

function find(command: Document, context: CommandContext): Document {
  const { filter = {}, projection = {}, sort = {}, batchSize, singleBatch } = command
  const skip = readCount('skip', command.skip, 0)
  const limit = readCount('limit', command.limit, 0)
  const view = readView(command, 'find', context)
  const statement = readStatement(command, view.collection, command.let, filter)
  const textScore = statement.text?.score ?? null
  const results = withTimeLimit(command, command.maxTimeMS, () => {
    const project = compileProjection(projection, {
      compileExpression: statement.compileExpression,
      find: { textScore },
    })
    const page = select(view, filter, statement, { sort, skip, limit, textScore })
    return Object.keys(projection).length === 0 ? page : page.map(project)
  })
  const { namespace } = view.collection
  return context.cursors.open(namespace, results, { batchSize, singleBatch, context })
}

function count(command: Document, context: CommandContext): Document {
  const view = readView(command, 'count', context)
  const statement = readStatement(command, view.collection, undefined, command.query)
  const skip = readCount('skip', command.skip, 0)
  const limit = readCount('limit', Math.abs(Number(command.limit ?? 0)), 0)
  const found = withTimeLimit(command, command.maxTimeMS, () =>
    select(view, command.query ?? {}, statement, { skip, limit }),
  )
  return { n: found.length, ok: 1 }
}

function distinct(command: Document, context: CommandContext): Document {
  const view = readView(command, 'distinct', context)
  const statement = readStatement(command, view.collection, undefined, command.query)
  if (command.key === undefined) throw new CommandError(40414, "BSON field 'key' is missing")
  const parts = command.key.split('.')
  const found = withTimeLimit(command, command.maxTimeMS, () =>
    select(view, command.query ?? {}, statement),
  )
  const all = found.flatMap((document) => valuesAt(document, parts)).flat()
  const present = all.filter((value) => value !== undefined)
  return { values: [...valuesByKey(present, statement.collation).values()], ok: 1 }
}
