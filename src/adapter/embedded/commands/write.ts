import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError } from '../../matching/command-error.ts'
import { withoutExpression } from '../../matching/filter.ts'
import { toCommandError } from '../errors.ts'
import { MAX_WRITE_BATCH, withTimeLimit } from '../limits.ts'
import type { FieldTypes } from '../protocol/read-fields.ts'
import { fieldsOf, readFields } from '../protocol/read-fields.ts'
import { compileProjection } from '../queries/projection.ts'
import { whenUnlocked } from '../storage/collection.ts'
import type { Entry } from '../storage/select-records.ts'
import { select } from '../storage/select-records.ts'
import { applyUpdates, insertDocument, planUpdates, planUpsert } from '../storage/write-records.ts'
import { isReplacement, stampEmptyTimestamps } from '../updates/update.ts'
import type { Command, CommandContext, Commands } from './command.ts'
import { readView, writeView } from './command.ts'
import { readStatement, readUpdate } from './statement.ts'

/** Commands that write documents. */
export const WRITE_COMMANDS: Commands = {
  insert: writing('documents', {}, { parse: checkDocument, run: insert }),
  update: writing('updates', { let: 'object' }, { parse: parseUpdate, run: update }),
  delete: writing('deletes', { let: 'object' }, { parse: parseDelete, run: remove }),
  findAndModify: {
    fields: {
      ...fieldsOf('object', 'query', 'fields', 'sort', 'collation', 'let'),
      ...fieldsOf('any', 'hint', 'update'),
      arrayFilters: 'array',
      ...fieldsOf('bool', 'new', 'upsert', 'remove'),
      // There are no validators.
      bypassDocumentValidation: 'bool',
    },
    run: (command, context) => whenUnlocked(() => findAndModify(command, context)),
  },
}

function writing(list: string, fields: FieldTypes, statement: Statement): Command {
  return {
    // There are no validators.
    fields: { [list]: 'array', ordered: 'bool', bypassDocumentValidation: 'bool', ...fields },
    run: (command, context) => runStatements(command, list, context, statement),
  }
}

const UPDATE_FIELDS = {
  ...fieldsOf('object', 'q', 'collation'),
  ...fieldsOf('any', 'u', 'hint'),
  c: 'refused',
  ...fieldsOf('bool', 'multi', 'upsert'),
  arrayFilters: 'array',
} as const

const DELETE_FIELDS = { q: 'object', limit: 'number', hint: 'any', collation: 'object' } as const

/** The result of one statement; only updates have `nModified` and `upserted`. */
interface Outcome {
  readonly n: number
  readonly nModified?: number
  readonly upsertedId?: unknown
}

interface Statement {
  /** Called for all statements before the first is run. @throws {CommandError} one is not valid */
  readonly parse: (statement: unknown) => Document
  readonly run: (statement: Document, command: Document, context: CommandContext) => Outcome
}

function checkDocument(document: unknown): Document {
  if (isDocument(document)) return document
  throw new CommandError(14, "The items of 'documents' must be objects")
}

function parseUpdate(given: unknown): Document {
  const statement = readFields('update.updates', given, UPDATE_FIELDS)
  if (statement.q !== undefined && statement.u !== undefined) return statement
  throw new CommandError(40414, "BSON field 'update.updates' needs the fields 'q' and 'u'")
}

function parseDelete(given: unknown): Document {
  const statement = readFields('delete.deletes', given, DELETE_FIELDS)
  if (statement.q === undefined || statement.limit === undefined) {
    throw new CommandError(40414, "BSON field 'delete.deletes' needs the fields 'q' and 'limit'")
  }
  if (statement.limit === 0 || statement.limit === 1) return statement
  throw new CommandError(9, `The limit of a delete must be 0 or 1. Got ${String(statement.limit)}`)
}

async function runStatements(
  command: Document,
  field: string,
  context: CommandContext,
  { parse, run }: Statement,
): Promise<Document> {
  const statements: unknown = command[field]
  if (!Array.isArray(statements)) {
    throw new CommandError(40414, `BSON field '${field}' is missing but a required field`)
  }
  if (statements.length === 0 || statements.length > MAX_WRITE_BATCH) {
    const message = `Write batch sizes must be between 1 and ${MAX_WRITE_BATCH}. Got ${statements.length}`
    throw new CommandError(16, message)
  }
  const writeErrors: Document[] = []
  const upserted: Document[] = []
  let n = 0
  let nModified = 0
  for (const [index, statement] of statements.map(parse).entries()) {
    try {
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

/** The time limit applies to the whole command: after it, no other statement runs. */
function isTimeout(error: unknown): boolean {
  return error instanceof CommandError && error.code === 50
}

function toWriteError(index: number, error: unknown): Document {
  const { code, message, details } = toCommandError(error)
  return { index, code, errmsg: message, ...details }
}

function insert(document: Document, command: Document, context: CommandContext): Outcome {
  insertDocument(writeView(command, 'insert', context), stampEmptyTimestamps(document, new Date()))
  return { n: 1 }
}

function update(statement: Document, command: Document, context: CommandContext): Outcome {
  const { q: filter, u: change, multi = false, upsert = false } = statement
  const view = readView(command, 'update', context)
  if (multi && isReplacement(change)) {
    throw new CommandError(9, 'multi update is not supported for replacement-style update')
  }
  const plan = withTimeLimit([statement, command.let], command.maxTimeMS, () => {
    const options = readStatement(statement, view.collection, command.let, filter)
    const updater = readUpdate(change, filter, statement.arrayFilters, options, context)
    const found = findEntries(view, filter, upsert ? withoutExpression(options, 224) : options, {
      limit: multi ? 0 : 1,
    })
    const updates = planUpdates(found, updater)
    const isInsert = upsert && updates.length === 0
    const insert = isInsert ? planUpsert(filter, updater, isReplacement(change)) : undefined
    return { updates, insert }
  })
  if (plan.insert === undefined) {
    return { n: plan.updates.length, nModified: applyUpdates(view, plan.updates) }
  }
  const target = writeView(command, 'update', context)
  return { n: 1, upsertedId: insertDocument(target, plan.insert)._id }
}

function remove(statement: Document, command: Document, context: CommandContext): Outcome {
  const { q: filter, limit } = statement
  const view = readView(command, 'delete', context)
  const entries = withTimeLimit([statement, command.let], command.maxTimeMS, () => {
    const options = readStatement(statement, view.collection, command.let, filter)
    return findEntries(view, filter, options, { limit })
  })
  for (const [key] of entries) view.check(key, undefined)
  for (const [key] of entries) view.remove(key)
  return { n: entries.length }
}

/** Returns the records that `select` finds. */
function findEntries(...[view, ...query]: Parameters<typeof select>): Entry[] {
  return select(view, ...query).map((document) => [view.collection.keyOf(document._id), document])
}

/** Options that have no meaning when a document is removed. */
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
  const view = readView(command, 'findAndModify', context)
  const statement = readStatement(command, view.collection, command.let, filter)
  const plan = withTimeLimit(command, command.maxTimeMS, () => {
    const options = command.upsert ? withoutExpression(statement, 224) : statement
    const found = findEntries(view, filter, options, { sort, limit: 1 })
    const project = compileProjection(command.fields ?? {}, {
      compileExpression: statement.compileExpression,
      find: {},
    })
    if (remove) return { found, project, updates: [], insert: undefined }
    const updater = readUpdate(change, filter, command.arrayFilters, statement, context)
    const isInsert = command.upsert && found.length === 0
    const insert = isInsert ? planUpsert(filter, updater, isReplacement(change)) : undefined
    return { found, project, updates: planUpdates(found, updater), insert }
  })
  const [entry] = plan.found
  if (plan.insert !== undefined) {
    const inserted = insertDocument(writeView(command, 'findAndModify', context), plan.insert)
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
