import type { Document } from 'bson'
import { CommandError } from '../errors/command-error.ts'
import { withTimeLimit } from '../limits/work-limits.ts'
import { compileProjection } from '../queries/projection.ts'
import { compileSort } from '../queries/sort.ts'
import { select } from '../storage/select-records.ts'
import { whenUnlocked } from '../storage/write-lock.ts'
import { applyUpdates, insertDocument, planUpdates, planUpsert } from '../storage/write-records.ts'
import { isReplacement } from '../updates/update.ts'
import type { CommandContext, Commands } from './command.ts'
import { readName } from './command.ts'
import { readStatement, readUpdate } from './statement.ts'

/** The command that changes one document and returns it. */
export const FIND_AND_MODIFY_COMMANDS: Commands = {
  findAndModify: {
    fields: {
      query: 'object',
      fields: 'object',
      sort: 'object',
      hint: 'any',
      collation: 'object',
      let: 'object',
      update: 'any',
      arrayFilters: 'array',
      new: 'bool',
      upsert: 'bool',
      remove: 'bool',
      // There are no validators.
      bypassDocumentValidation: 'bool',
    },
    run: (command, context) => whenUnlocked(() => findAndModify(command, context)),
  },
}

/** Options that have no meaning where a document is removed. */
const NOT_WITH_REMOVE = ['update', 'new', 'upsert', 'arrayFilters']

function findAndModify(command: Document, context: CommandContext): Document {
  const { query: filter = {}, update: change, sort = {}, remove = false } = command
  const wrong = NOT_WITH_REMOVE.find((option) => remove && command[option])
  if (wrong !== undefined) {
    throw new CommandError(9, `Cannot specify both '${wrong}' and 'remove: true'`)
  }
  if (!remove && change === undefined) {
    throw new CommandError(9, "Either an 'update' or 'remove: true' must be specified")
  }
  const name = readName(command, 'findAndModify')
  const view = context.store.read(context.database, name, context.transaction)
  const statement = readStatement(command, view.collection, command.let, filter)
  const plan = withTimeLimit(command, command.maxTimeMS, () => {
    const entries = [...select(view, filter, statement)]
    const sorted = compileSort(sort, statement.collation)(entries.map(([, document]) => document))
    const found = entries.filter(([, document]) => document === sorted[0])
    const project = compileProjection(command.fields ?? {}, {
      compileExpression: statement.compileExpression,
      find: { filter, match: statement },
    })
    if (remove) return { found, project, updates: [], insert: undefined }
    const updater = readUpdate(change, filter, command.arrayFilters, statement, context)
    const isInsert = command.upsert && found.length === 0
    const insert = isInsert ? planUpsert(filter, updater, isReplacement(change)) : undefined
    return { found, project, updates: planUpdates(found, updater), insert }
  })
  const [entry] = plan.found
  if (plan.insert !== undefined) {
    const target = context.store.write(context.database, name, context.transaction)
    const inserted = insertDocument(target, plan.insert)
    const lastErrorObject = { n: 1, updatedExisting: false, upserted: inserted._id }
    return { lastErrorObject, value: command.new ? plan.project(inserted) : null, ok: 1 }
  }
  if (remove && entry !== undefined) {
    view.check(entry[0], undefined)
    view.remove(entry[0])
  }
  applyUpdates(view, plan.updates)
  const n = plan.found.length
  const result = command.new ? plan.updates[0]?.after : entry?.[1]
  return {
    lastErrorObject: remove ? { n } : { n, updatedExisting: n > 0 },
    value: result === undefined ? null : plan.project(result),
    ok: 1,
  }
}
