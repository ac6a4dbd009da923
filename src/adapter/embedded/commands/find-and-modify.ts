import type { Document } from 'bson'
import type { Command, CommandContext } from '../command.ts'
import { checkHint, readMatchOptions, readName, readUpdate } from '../command.ts'
import { CommandError } from '../errors.ts'
import { whenUnlocked } from '../lock.ts'
import { compileProjection } from '../projection.ts'
import { applyUpdates, insertDocument, planUpdates, planUpsert } from '../records.ts'
import { withTimeLimit } from '../regular-expression.ts'
import { select } from '../select.ts'
import { compileSort } from '../sort.ts'
import { isReplacement } from '../update.ts'

/** The command that changes one document and returns it. */
export const FIND_AND_MODIFY_COMMANDS: Readonly<Record<string, Command>> = {
  findAndModify: (command, context) => whenUnlocked(() => findAndModify(command, context)),
}

function findAndModify(command: Document, context: CommandContext): Document {
  const { query: filter = {}, update: change, sort = {}, upsert = false, remove = false } = command
  if (remove === (change !== undefined)) {
    throw new CommandError(9, "Either an 'update' or 'remove: true' must be specified")
  }
  const name = readName(command, 'findAndModify')
  const view = context.store.read(context.database, name, context.transaction)
  checkHint(command.hint, view.collection)
  const match = readMatchOptions(command, view.collection, command.let)
  const plan = withTimeLimit(command, command.maxTimeMS, () => {
    const entries = [...select(view, filter, match)]
    const [first] = compileSort(sort, match.collation)(entries.map(([, document]) => document))
    const found = entries.filter(([, document]) => document === first)
    const project = compileProjection(command.fields ?? {}, {
      evaluate: match.evaluate,
      find: { filter, match },
    })
    if (remove) return { found, project, updates: [], insert: undefined }
    const updater = readUpdate(change, filter, command.arrayFilters, match, command.let, context)
    const isInsert = upsert && found.length === 0
    const insert = isInsert ? planUpsert(filter, updater, isReplacement(change)) : undefined
    return { found, project, updates: planUpdates(found, updater), insert }
  })
  const [entry] = plan.found
  if (plan.insert !== undefined) {
    const target = context.store.write(context.database, name, context.transaction)
    const inserted = insertDocument(target, plan.insert)
    const lastErrorObject = { n: 1, updatedExisting: false, upserted: inserted._id }
    return {
      lastErrorObject,
      value: command.new === true ? plan.project(inserted) : null,
      ok: 1,
    }
  }
  if (remove && entry !== undefined) {
    view.check(entry[0], undefined)
    view.remove(entry[0])
  }
  applyUpdates(view, plan.updates)
  const n = plan.found.length
  const result = command.new === true ? plan.updates[0]?.after : entry?.[1]
  return {
    lastErrorObject: remove ? { n } : { n, updatedExisting: n > 0 },
    value: result === undefined ? null : plan.project(result),
    ok: 1,
  }
}
