import type { Document } from 'bson'
import type { Command, CommandContext } from '../command.ts'
import { checkHint, readMatchOptions, readName, readUpdate } from '../command.ts'
import { isDocument } from '../compare.ts'
import { CommandError, toCommandError } from '../errors.ts'
import { whenUnlocked } from '../lock.ts'
import { applyUpdates, insertDocument, planUpdates, planUpsert } from '../records.ts'
import { withTimeLimit } from '../regular-expression.ts'
import type { Entry } from '../select.ts'
import { select } from '../select.ts'
import { isReplacement } from '../update.ts'

/** Commands that write documents. */
export const WRITE_COMMANDS: Readonly<Record<string, Command>> = {
  insert: (command, context) => runStatements(command, 'documents', context, insert),
  update: (command, context) => runStatements(command, 'updates', context, update),
  delete: (command, context) => runStatements(command, 'deletes', context, remove),
}

/** What one statement has done; `nModified` and `upserted` are those of updates. */
interface Outcome {
  readonly n: number
  readonly nModified?: number
  readonly upsertedId?: unknown
}

type Statement = (statement: Document, command: Document, context: CommandContext) => Outcome

async function runStatements(
  command: Document,
  field: string,
  context: CommandContext,
  run: Statement,
): Promise<Document> {
  const statements: unknown = command[field]
  if (!Array.isArray(statements))
    throw new CommandError(9, `The command needs the array '${field}'`)
  const writeErrors: Document[] = []
  const upserted: Document[] = []
  let n = 0
  let nModified = 0
  for (const [index, statement] of statements.entries()) {
    try {
      if (!isDocument(statement)) throw new CommandError(14, 'A statement must be an object')
      const outcome = await whenUnlocked(() => run(statement, command, context))
      n += outcome.n
      nModified += outcome.nModified ?? 0
      if ('upsertedId' in outcome) upserted.push({ index, _id: outcome.upsertedId })
    } catch (error) {
      // A failed statement ends a transaction, and the whole command with it.
      if (context.transaction !== undefined || isTimeout(error)) throw error
      writeErrors.push(toWriteError(index, error))
      if (command.ordered !== false) break
    }
  }
  return {
    n,
    ...(field === 'updates' ? { nModified } : {}),
    ...(upserted.length === 0 ? {} : { upserted }),
    ...(writeErrors.length === 0 ? {} : { writeErrors }),
    ok: 1,
  }
}

/** The time limit is that of the command and not of one statement. */
function isTimeout(error: unknown): boolean {
  return error instanceof CommandError && error.code === 50
}

function toWriteError(index: number, error: unknown): Document {
  const { code, message, details } = toCommandError(error)
  return { index, code, errmsg: message, ...details }
}

function insert(document: Document, command: Document, context: CommandContext): Outcome {
  const view = context.store.write(
    context.database,
    readName(command, 'insert'),
    context.transaction,
  )
  insertDocument(view, document)
  return { n: 1 }
}

function update(statement: Document, command: Document, context: CommandContext): Outcome {
  const { q: filter, u: change, multi = false, upsert = false } = statement
  const name = readName(command, 'update')
  const view = context.store.read(context.database, name, context.transaction)
  checkHint(statement.hint, view.collection)
  if (multi && isReplacement(change)) {
    throw new CommandError(9, 'multi update is not supported for replacement-style update')
  }
  const limits = statement.maxTimeMS ?? command.maxTimeMS
  const plan = withTimeLimit(statement, limits, () => {
    const match = readMatchOptions(statement, view.collection, command.let)
    const updater = readUpdate(change, filter, statement.arrayFilters, match, command.let, context)
    const updates = planUpdates(takeEntries(select(view, filter, match), multi), updater)
    const isInsert = upsert && updates.length === 0
    return {
      updates,
      insert: isInsert ? planUpsert(filter, updater, isReplacement(change)) : undefined,
    }
  })
  if (plan.insert === undefined) {
    return { n: plan.updates.length, nModified: applyUpdates(view, plan.updates) }
  }
  const target = context.store.write(context.database, name, context.transaction)
  return { n: 1, upsertedId: insertDocument(target, plan.insert)._id }
}

function remove(statement: Document, command: Document, context: CommandContext): Outcome {
  const { q: filter, limit = 0 } = statement
  const view = context.store.read(
    context.database,
    readName(command, 'delete'),
    context.transaction,
  )
  checkHint(statement.hint, view.collection)
  const match = readMatchOptions(statement, view.collection, command.let)
  const entries = withTimeLimit(statement, command.maxTimeMS, () =>
    takeEntries(select(view, filter, match), limit === 0),
  )
  for (const [key] of entries) view.check(key, undefined)
  for (const [key] of entries) view.remove(key)
  return { n: entries.length }
}

function takeEntries(entries: Generator<Entry>, all: boolean): Entry[] {
  if (all) return [...entries]
  const first = entries.next()
  return first.done === true ? [] : [first.value]
}
