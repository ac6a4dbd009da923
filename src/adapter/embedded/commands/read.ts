import type { Document } from 'bson'
import type { Command, CommandContext } from '../command.ts'
import { checkHint, readMatchOptions, readName, refuseOptions } from '../command.ts'
import { keyOf } from '../compare.ts'
import { CommandError } from '../errors.ts'
import { valuesAt } from '../paths.ts'
import { compileProjection } from '../projection.ts'
import { withTimeLimit } from '../regular-expression.ts'
import { select } from '../select.ts'
import { compileSort } from '../sort.ts'

/** Commands that read one collection. */
export const READ_COMMANDS: Readonly<Record<string, Command>> = {
  find,
  count,
  distinct,
  getMore: (command, { cursors, database }) => {
    const namespace = `${database}.${readName(command, 'collection')}`
    return cursors.next(command.getMore, namespace, command.batchSize)
  },
  killCursors: (command, { cursors }) => {
    const ids: unknown = command.cursors
    if (!Array.isArray(ids)) throw new CommandError(14, "'cursors' must be an array")
    const cursorsKilled = ids.filter((id) => cursors.kill(id))
    const cursorsNotFound = ids.filter((id) => !cursorsKilled.includes(id))
    return { cursorsKilled, cursorsNotFound, cursorsAlive: [], cursorsUnknown: [], ok: 1 }
  },
}

function find(command: Document, context: CommandContext): Document {
  refuseOptions(command, ['tailable', 'awaitData', 'min', 'max', 'returnKey', 'showRecordId'])
  const { filter = {}, projection = {}, sort = {}, batchSize, singleBatch } = command
  const skip = toCount('skip', command.skip)
  const limit = toCount('limit', command.limit)
  const view = context.store.read(context.database, readName(command, 'find'), context.transaction)
  checkHint(command.hint, view.collection)
  const match = readMatchOptions(command, view.collection, command.let)
  const results = withTimeLimit(command, command.maxTimeMS, () => {
    const project = compileProjection(projection, {
      evaluate: match.evaluate,
      find: { filter, match },
    })
    const sorter = compileSort(sort, match.collation)
    const found = Array.from(select(view, filter, match), ([, document]) => document)
    const page = sorter(found).slice(skip, limit === 0 ? undefined : skip + limit)
    return Object.keys(projection).length === 0 ? page : page.map(project)
  })
  return context.cursors.open(view.collection.namespace, results, { batchSize, singleBatch })
}

function count(command: Document, context: CommandContext): Document {
  const view = context.store.read(context.database, readName(command, 'count'), context.transaction)
  checkHint(command.hint, view.collection)
  const match = readMatchOptions(command, view.collection, undefined)
  const found = withTimeLimit(command, command.maxTimeMS, () => [
    ...select(view, command.query ?? {}, match),
  ])
  const skip = toCount('skip', command.skip)
  const limit = Math.abs(command.limit ?? 0)
  const left = Math.max(found.length - skip, 0)
  return { n: limit === 0 ? left : Math.min(left, limit), ok: 1 }
}

function distinct(command: Document, context: CommandContext): Document {
  const view = context.store.read(
    context.database,
    readName(command, 'distinct'),
    context.transaction,
  )
  checkHint(command.hint, view.collection)
  const match = readMatchOptions(command, view.collection, undefined)
  if (typeof command.key !== 'string') throw new CommandError(14, "'key' must be a string")
  const parts = command.key.split('.')
  const found = withTimeLimit(command, command.maxTimeMS, () => [
    ...select(view, command.query ?? {}, match),
  ])
  const values = new Map<string, unknown>()
  for (const value of found.flatMap(([, document]) => valuesAt(document, parts)).flat()) {
    const key = keyOf(value, match.collation)
    if (value !== undefined && !values.has(key)) values.set(key, value)
  }
  return { values: [...values.values()], ok: 1 }
}

function toCount(name: string, value: unknown): number {
  if (value === undefined) return 0
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
  throw new CommandError(2, `The ${name} must be a whole number of at least 0`)
}
