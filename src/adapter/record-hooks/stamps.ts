import type { Hook, HookContext } from '../../core/application-defaults.ts'
import { NotAuthenticated } from '../../core/errors/index.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { Params } from '../../core/params.ts'
import { readUserId } from '../../core/user-id.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import type { CallRule } from '../call-rules.ts'
import { setRule } from '../call-rules.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { getGivenOptions } from '../mongodb-params.ts'
import type { WriteData } from '../writes/write-data.ts'
import { hasOperators, namesField } from '../writes/write-data.ts'
import { createRecordHook, FIELD, storesData, withoutField } from './record-hook.ts'

/** Options of {@link timestamps}. */
export interface TimestampsOptions {
  /** The field with the time of `create`. Default: `'createdAt'`. */
  readonly createdAt?: string
  /** The field with the time of the last write. Default: `'updatedAt'`. */
  readonly updatedAt?: string
}

/** Options of {@link createdBy} and {@link updatedBy}. */
export interface WrittenByOptions {
  /** The field. Default: the name of the hook. */
  readonly field?: string
  /**
   * Returns what is stored of a caller; `null` is stored, and `undefined` stands for nobody. Default: the
   * `_id` or `id` of `params.user`.
   */
  readonly by?: (params: Params) => unknown
}

/** Fields of a record, and what they are set to. */
interface Stamp {
  /** The field that `create` sets. */
  readonly created?: string
  /** The field that each write sets. */
  readonly updated?: string
  /** Returns the value for a call; with `undefined` the fields are not set. */
  readonly read: (params: Params) => unknown
}

/**
 * Returns a before hook that sets the times of `create` and of the last write, each a `Date`. What callers
 * outside send in the fields is left out. `update` keeps the time of `create`, unless data from inside has
 * another one.
 * @throws {BadRequest} in calls: an operator from outside would change one of the fields
 */
export function timestamps(options: TimestampsOptions = {}): Hook {
  checkOptions('timestamps()', options, { createdAt: FIELD, updatedAt: FIELD })
  const { createdAt = 'createdAt', updatedAt = 'updatedAt' } = options
  return stamp('timestamps', { created: createdAt, updated: updatedAt, read: () => new Date() })
}

/**
 * Returns a before hook that sets who has created a record, and otherwise does what {@link timestamps} does.
 * Calls inside without a user set nothing.
 * @throws {NotAuthenticated} in calls: a caller outside without a user
 */
export function createdBy(options: WrittenByOptions = {}): Hook {
  const { field = 'createdBy', read } = resolveWrittenBy('createdBy()', options)
  return stamp('createdBy', { created: field, read })
}

/** Returns a before hook that sets who has written to a record last, as {@link createdBy} does. */
export function updatedBy(options: WrittenByOptions = {}): Hook {
  const { field = 'updatedBy', read } = resolveWrittenBy('updatedBy()', options)
  return stamp('updatedBy', { updated: field, read })
}

function resolveWrittenBy(owner: string, options: WrittenByOptions) {
  checkOptions(owner, options, { field: FIELD, by: OPTION.function })
  const { field, by = readUserId } = options
  const read = (params: Params): unknown => {
    const value = by(params)
    if (value !== undefined || params.provider === undefined) return value
    throw new NotAuthenticated('Not authenticated')
  }
  return { field, read }
}

function stamp(name: string, fields: Stamp): Hook {
  const hook = createRecordHook(name, (context) => {
    let rule: CallRule | undefined
    if (storesData(context.method)) {
      if (context.params.provider !== undefined) leaveOut(context, fields)
      const { data, method } = context
      if (method === 'create') context.data = addToNew(context, fields)
      else if (isObject(data) && !Array.isArray(data)) {
        const isReplaced = method === 'update' && !hasOperators(data)
        if (isReplaced) rule = keepCreated(context, data, fields)
        context.data = addToChange(context, data, fields, isReplaced)
      }
    }
    setRule(context, hook, rule)
  })
  return describeFunction(hook, { refusesNobody: true })
}

/** Takes out what a caller outside has sent. */
function leaveOut(context: HookContext, { created, updated }: Stamp): void {
  for (const field of [created, updated]) {
    if (field !== undefined) context.data = withoutField(context.data, field)
  }
}

/** Returns new records with the fields; what is there comes from inside. */
function addToNew({ data, params }: HookContext, { created, updated, read }: Stamp): unknown {
  const value = read(params)
  if (value === undefined) return data
  const given = [created, updated].filter((field) => field !== undefined)
  const stamps = Object.fromEntries(given.map((field) => [field, value]))
  const add = (item: unknown): unknown => (isObject(item) ? { ...stamps, ...item } : item)
  return Array.isArray(data) ? data.map(add) : add(data)
}

/** Returns the rule by which a replacement keeps what `create` has set, unless data from inside has it. */
function keepCreated(
  { params }: HookContext,
  data: WriteData,
  { created, read }: Stamp,
): CallRule | undefined {
  if (created === undefined || data[created] !== undefined) return undefined
  return { kept: { [created]: isUpsert(params) ? read(params) : undefined } }
}

function isUpsert(params: MongoDBParams): boolean {
  return getGivenOptions(params)?.upsert === true
}

function addToChange(
  { method, params }: HookContext,
  data: WriteData,
  { created, updated, read }: Stamp,
  isReplaced: boolean,
): WriteData {
  const isAdded =
    !isReplaced && isUpsert(params) && created !== undefined && !namesField(data, created)
  const isSet = updated !== undefined && (!hasOperators(data) || !namesField(data, updated))
  const value = isAdded || isSet ? read(params) : undefined
  if (value === undefined) return data
  const addTo = (operator: string, name: string): WriteData => {
    const { [operator]: given = {} } = data
    // What is no object the service refuses.
    return isPlainObject(given) ? { [operator]: { ...given, [name]: value } } : {}
  }
  // Data of `update` has operators alone, or none.
  const isOperator = method === 'update' && !isReplaced
  return {
    ...data,
    ...(isAdded ? addTo('$setOnInsert', created) : {}),
    ...(isSet ? (isOperator ? addTo('$set', updated) : { [updated]: value }) : {}),
  }
}

describeFunction(timestamps, { hookFactory: 'timestamps()' })
describeFunction(createdBy, { hookFactory: 'createdBy()' })
describeFunction(updatedBy, { hookFactory: 'updatedBy()' })
