import type { Document } from 'mongodb'
import type { Hook } from '../../core/application-defaults.ts'
import { LoginRequired } from '../../core/errors/coded-errors.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import type { Params } from '../../core/params.ts'
import type { FieldName } from '../../core/services/record-query.ts'
import { readUserId } from '../../core/user-id.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { RuledWrite } from '../adapter-call.ts'
import { setRule } from '../call-rules.ts'
import { isObjectId, isSameId } from '../object-id.ts'
import type { WriteData } from '../writes/write-data.ts'
import { hasOperators, namesField, takeField } from '../writes/write-data.ts'
import { checkUpsertQuery } from './limit-conditions.ts'
import { createRecordHook, FIELD, mapWrites, storesData } from './record-hook.ts'

/** Options of {@link timestamps}. */
export interface TimestampsOptions<T = Document> {
  /** The field with the time of `create`. Default: `'createdAt'`. */
  readonly createdAt?: FieldName<T>
  /** The field with the time of the last write. Default: `'updatedAt'`. */
  readonly updatedAt?: FieldName<T>
}

/** Options of {@link createdBy} and {@link updatedBy}. */
export interface WrittenByOptions<T = Document> {
  /** The field. Default: the name of the hook. */
  readonly field?: FieldName<T>
  /**
   * Returns what is stored about a caller; `null` is stored as a value, `undefined` means no caller. Default:
   * the `_id` or `id` of `params.user`.
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
 * Returns a before hook that sets the times of `create` and of the last write, each a `Date`. In external calls, it
 * removes these fields from the data of the caller, and later hooks cannot change them. `update` keeps the time of
 * `create`, unless internal data has another one.
 * @throws {BadRequest} in external calls: an operator would change one of the fields
 */
export function timestamps<T = Document>(options: TimestampsOptions<T> = {}): Hook {
  checkOptions('timestamps()', options, { createdAt: FIELD, updatedAt: FIELD })
  const { createdAt = 'createdAt', updatedAt = 'updatedAt' } = options
  return stamp('timestamps', { created: createdAt, updated: updatedAt, read: () => new Date() })
}

/**
 * Returns a before hook that sets who created a record, and otherwise works like {@link timestamps}. Internal
 * calls without a user set nothing.
 * @throws {NotAuthenticated} in calls: an external caller without a user
 */
export function createdBy<T = Document>(options: WrittenByOptions<T> = {}): Hook {
  const { field = 'createdBy', read } = resolveWrittenBy('createdBy()', options)
  return stamp('createdBy', { created: field, read })
}

/** Returns a before hook that sets who last wrote to a record, like {@link createdBy}. */
export function updatedBy<T = Document>(options: WrittenByOptions<T> = {}): Hook {
  const { field = 'updatedBy', read } = resolveWrittenBy('updatedBy()', options)
  return stamp('updatedBy', { updated: field, read })
}

function resolveWrittenBy<T>(owner: string, options: WrittenByOptions<T>) {
  checkOptions(owner, options, { field: FIELD, by: OPTION.function })
  const { field, by = readUserId } = options
  const read = (params: Params): unknown => {
    const value = by(params)
    if (value !== undefined || params.provider === undefined) return value
    throw new LoginRequired('Not authenticated')
  }
  return { field, read }
}

/** The fields and the value that a hook sets in the records of one call. */
interface CallStamp extends Omit<Stamp, 'read'> {
  readonly isExternal: boolean
  /** Returns the value, the same each time; `undefined` for none. */
  readonly value: () => unknown
}

function stamp(name: string, fields: Stamp): Hook {
  const hook = createRecordHook(name, (context, { options }) => {
    const { method, params } = context
    if (!storesData(method)) {
      setRule(context, hook, undefined)
      return
    }
    let read: { readonly value: unknown } | undefined
    const own: CallStamp = {
      ...fields,
      isExternal: params.provider !== undefined,
      value() {
        read ??= { value: fields.read(params) }
        return read.value
      },
    }
    // Later hooks see the stamped fields, never the values that the caller sent.
    mapWrites(context, options, (write) => showStamp(leaveOut(write, own), own))
    setRule(context, hook, { fill: (write) => fillIn(write, own) })
  })
  return describeFunction(hook, { refusesNobody: true })
}

/** Returns a write without the fields, if the data is external. */
function leaveOut(write: RuledWrite, { created, updated, isExternal }: CallStamp): RuledWrite {
  if (!isExternal) return write
  let { data } = write
  for (const field of [created, updated]) {
    if (field !== undefined) data = takeField(data, field).others
  }
  return { ...write, data }
}

/** Returns a write with the fields set, if its data has no operators. */
function showStamp(write: RuledWrite, own: CallStamp): RuledWrite {
  if (write.kind === 'create') return addToNew(write, own)
  // The data of `update` has either fields or operators.
  const isByOperators = write.kind === 'patch' && hasOperators(write.data)
  return isByOperators ? write : setUpdated(write, own)
}

/** Returns the write of a command with the fields set: hooks may have replaced the data before it. */
function fillIn(write: RuledWrite, own: CallStamp): RuledWrite {
  const kept = own.isExternal ? keepStamped(write, own) : {}
  const { data } = leaveOut(write, own)
  const filled = { ...write, data: { ...data, ...kept } }
  if (write.kind === 'create') return addToNew(filled, own)
  const changed = setUpdated(filled, own)
  return write.kind === 'update' ? keepCreated(changed, own) : addOnInsert(changed, own)
}

/**
 * Returns the fields that still equal the stamp: a hook may have converted it, to an ISO string for example.
 */
function keepStamped({ kind, data }: RuledWrite, own: CallStamp): WriteData {
  const fields = [own.updated, kind === 'create' ? own.created : undefined]
  const same = fields.filter(
    (field) => field !== undefined && data[field] !== undefined && isSame(data[field], own.value()),
  ) as string[]
  return Object.fromEntries(same.map((field) => [field, data[field]]))
}

function isSame(given: unknown, stamped: unknown): boolean {
  if (stamped instanceof Date) {
    const isTime = given instanceof Date || typeof given === 'string' || typeof given === 'number'
    return isTime && new Date(given).getTime() === stamped.getTime()
  }
  return isId(given) && isId(stamped) && isSameId(given, stamped)
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || isObjectId(value)
}

/** Adds the fields to a new record, except those that the data has already. */
function addToNew(write: RuledWrite, { created, updated, value }: CallStamp): RuledWrite {
  const stamped = value()
  const { data } = write
  const lacking = [created, updated].filter(
    (field) => field !== undefined && data[field] === undefined,
  ) as string[]
  if (stamped === undefined || lacking.length === 0) return write
  const stamps = Object.fromEntries(lacking.map((field) => [field, stamped]))
  return { ...write, data: { ...data, ...stamps } }
}

/** Sets the field of the last write. Internal data with operators may set the field itself. */
function setUpdated(write: RuledWrite, { updated, value, isExternal }: CallStamp): RuledWrite {
  const { data } = write
  if (updated === undefined) return write
  if (isExternal ? data[updated] !== undefined : hasOperators(data) && namesField(data, updated)) {
    return write
  }
  const stamped = value()
  return stamped === undefined ? write : { ...write, data: { ...data, [updated]: stamped } }
}

/** Makes a replacement keep the value set by `create`, unless internal data has the field. */
function keepCreated(write: RuledWrite, { created, value, isExternal }: CallStamp): RuledWrite {
  const { data, isUpsert, given, kept } = write
  if (created === undefined || data[created] !== undefined) return write
  if (isUpsert && isExternal) checkUpsertQuery(given, [created])
  return { ...write, kept: { ...kept, [created]: isUpsert ? value() : undefined } }
}

/** Sets the field of `create` in the record that an upsert adds. */
function addOnInsert(write: RuledWrite, { created, value }: CallStamp): RuledWrite {
  const { data, isUpsert } = write
  if (created === undefined || !isUpsert || namesField(data, created)) return write
  const stamped = value()
  const { $setOnInsert = {} } = data
  // The service rejects a `$setOnInsert` that is not an object.
  if (stamped === undefined || !isPlainObject($setOnInsert)) return write
  return { ...write, data: { ...data, $setOnInsert: { ...$setOnInsert, [created]: stamped } } }
}

describeFunction(timestamps, { hookFactory: 'timestamps()' })
describeFunction(createdBy, { hookFactory: 'createdBy()' })
describeFunction(updatedBy, { hookFactory: 'updatedBy()' })
