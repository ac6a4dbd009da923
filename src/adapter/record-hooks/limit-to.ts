import type { Document } from 'mongodb'
import type { Hook } from '../../core/application-defaults.ts'
import { AccessDenied, InvalidData } from '../../core/errors/coded-errors.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { Params, Query } from '../../core/params.ts'
import { RESULT_NAMES } from '../../core/query-names.ts'
import type { StrictConditions } from '../../core/services/record-query.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { RuledWrite } from '../adapter-call.ts'
import { setRule } from '../call-rules.ts'
import { relate } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { isSameId, toStoredId } from '../object-id.ts'
import { toCompared } from '../queries/judge.ts'
import { splitQuery } from '../queries/split-query.ts'
import { resolveCallSettings } from '../resolve-options.ts'
import type { WriteData } from '../writes/write-data.ts'
import { listWrittenPaths } from '../writes/write-data.ts'
import type { LimitCondition } from './limit-conditions.ts'
import { checkUpsertQuery, readLimit } from './limit-conditions.ts'
import { createRecordHook, mapWrites } from './record-hook.ts'

/**
 * Returns a before hook that limits external calls to the records that match a condition, in all methods that
 * it is registered for and in live queries. The condition is a part of each command, whatever query the
 * caller or another hook has set. Stored data must match it as well, whichever hook set the data: new records
 * and replacements get missing values from the condition, and a patch can only set its fields to matching
 * values.
 * @param restrict returns the condition; `{}` for all records
 * @throws {Forbidden} in calls: there is no condition, or the data does not match it
 */
export function limitTo<T = Document>(
  restrict: (params: Params) => Limit<T> | Promise<Limit<T>>,
): Hook {
  if (typeof restrict !== 'function') {
    throw new HookError('limitTo() needs a function that returns a condition')
  }
  const hook = createRecordHook('limitTo', async (context, service) => {
    if (context.params.provider === undefined) {
      setRule(context, hook, undefined)
      return
    }
    const conditions = await restrict(context.params)
    if (!isPlainObject(conditions)) throw new AccessDenied('You cannot access these records')
    const settings = resolveCallSettings(service.options, context.params)
    const filter = toFilter(conditions, settings)
    let limit: readonly LimitCondition[] | undefined
    const hold = (write: RuledWrite): RuledWrite => {
      limit ??= readLimit(filter)
      return { ...write, data: holdData(write, limit) }
    }
    // Checked here as well, so that later hooks do not act on data that will be rejected.
    mapWrites(context, settings, hold)
    setRule(context, hook, { filter, hold })
  })
  return hook
}

/** What a caller may reach: conditions on the fields of a record, or `null` or `undefined` for no record. */
type Limit<T> = StrictConditions<NoInfer<T>> | null | undefined

/** Names in a query that are not conditions. */
const NO_CONDITIONS = [...RESULT_NAMES, '$search', '$text']

function toFilter(conditions: Query, settings: MongoDBSettings): Document {
  const other = NO_CONDITIONS.find((name) => Object.hasOwn(conditions, name))
  if (other === undefined) return splitQuery(conditions, settings).filter
  throw new HookError(`limitTo(): ${other} is no condition on fields`)
}

/** Returns the data of a write, such that its record matches. */
function holdData(write: RuledWrite, limit: readonly LimitCondition[]): WriteData {
  if (write.kind === 'patch') return holdChange(write, limit)
  return write.kind === 'create' ? holdNew(write, limit) : holdReplacement(write, limit)
}

function holdNew({ data, settings }: RuledWrite, limit: readonly LimitCondition[]): WriteData {
  const ids = ['_id', settings.id]
  // A condition on an id only finds stored records: it does not set the id of a new one.
  const held = withDemanded(data, withoutIds(limit, settings))
  const known = ids.filter((name) => held[name] !== undefined && held[name] !== null)
  const stored = known.map((id) => [id, toStoredId(held[id] as string, { ...settings, id })])
  const record = { ...held, ...Object.fromEntries(stored) }
  checkRecord(record, limit, (path) => !ids.includes(path) || known.includes(path))
  return held
}

function holdReplacement(
  { data, id, isUpsert, settings, kept }: RuledWrite,
  limit: readonly LimitCondition[],
): WriteData {
  // The stored record matches, and the replacement changes neither its ids nor the kept fields.
  const conditions = withoutIds(limit, settings)
  const held = withDemanded(data, conditions)
  const { _id, ...fields } = held
  const record = { ...fields, [settings.id]: toStoredId(id as string, settings) }
  const isKept = (path: string): boolean => Object.hasOwn(kept, rootOf(path))
  const changed = conditions.filter(({ fields }) => fields === null || !fields.every(isKept))
  const isForeignId = (path: string): boolean => path === '_id' && settings.id !== '_id'
  checkRecord(record, changed, (path) => !isKept(path) && !isForeignId(path))
  if (isUpsert) checkRecord({ ...record, ...kept }, conditions)
  return held
}

function holdChange(
  { data, given, isUpsert, settings }: RuledWrite,
  limit: readonly LimitCondition[],
): WriteData {
  const held = withSameIds(data, limit)
  const entries = Object.entries(held).filter(([, value]) => value !== undefined)
  const operators = entries.filter(([name]) => name.startsWith('$'))
  checkOperators(operators, isUpsert, limit)
  const ids = ['_id', settings.id]
  // A patch never sets an id.
  const set = Object.fromEntries(
    entries.filter(([name]) => !name.startsWith('$') && !ids.includes(name)),
  )
  const paths = Object.keys(set)
  for (const condition of limit) {
    const written = paths.filter((path) => isAbout(condition, path))
    if (written.some((path) => path.includes('.'))) refuse()
    if (written.length === 0) continue
    checkRecord(set, [condition], (path) => Object.hasOwn(set, rootOf(path)))
  }
  const { $setOnInsert } = Object.fromEntries(operators)
  if (isUpsert) checkAdded(set, $setOnInsert, withoutIds(limit, settings), given)
  return held
}

/** Rejects operators on fields of a condition: their result is not known before the write. */
function checkOperators(
  operators: readonly (readonly [name: string, value: unknown])[],
  isUpsert: boolean,
  limit: readonly LimitCondition[],
): void {
  for (const [name, fields] of operators) {
    if (!isPlainObject(fields)) {
      throw new InvalidData(`The operator ${name} takes an object of fields`)
    }
    const isOfNew = name === '$setOnInsert' && isUpsert
    const paths = listWrittenPaths({ [name]: fields })
    const checked = isOfNew ? paths.filter((path) => path.includes('.')) : paths
    if (limit.some((condition) => checked.some((path) => isAbout(condition, path)))) refuse()
  }
}

/** Checks the record that an upsert adds. The record also gets the plain values of the filter. */
function checkAdded(
  set: WriteData,
  onInsert: unknown,
  limit: readonly LimitCondition[],
  given: Document,
): void {
  const demanded = limit.flatMap((condition) => condition.demanded)
  const others = isPlainObject(onInsert) ? onInsert : {}
  const added = { ...Object.fromEntries(demanded), ...set, ...others }
  checkRecord(added, limit)
  const open = limit.flatMap(({ fields }) => fields ?? [])
  checkUpsertQuery(
    given,
    open.filter((path) => !Object.hasOwn(added, rootOf(path))),
  )
}

/** Returns the conditions that are not on ids. */
function withoutIds(
  limit: readonly LimitCondition[],
  settings: MongoDBSettings,
): readonly LimitCondition[] {
  return limit.filter(({ name }) => name !== '_id' && name !== settings.id)
}

function isAbout({ fields }: LimitCondition, path: string): boolean {
  return fields === null || relate(path, fields) !== 'apart'
}

function rootOf(path: string): string {
  return path.split('.', 1)[0] as string
}

/** Returns data plus the values that conditions demand and the data lacks. */
function withDemanded(data: WriteData, conditions: readonly LimitCondition[]): WriteData {
  const lacking = conditions.filter(({ name }) => data[name] === undefined)
  const demanded = lacking.flatMap((condition) => condition.demanded)
  return withSameIds({ ...data, ...Object.fromEntries(demanded) }, conditions)
}

/** Returns data in which ids given as strings are replaced by the equal ids of conditions. */
function withSameIds(data: WriteData, conditions: readonly LimitCondition[]): WriteData {
  const demanded = conditions.flatMap((condition) => condition.demanded)
  const same = demanded.filter(([name, value]) => {
    const given = data[name]
    return given !== undefined && given !== null && isSameId(given, value)
  })
  return { ...data, ...Object.fromEntries(same) }
}

/**
 * @throws {Forbidden} a record does not match all conditions
 * @throws {BadRequest} it cannot be stored
 */
function checkRecord(
  record: WriteData,
  conditions: readonly LimitCondition[],
  isKnown: (path: string) => boolean = () => true,
): void {
  if (conditions.length === 0) return
  let compared: Document
  try {
    compared = toCompared(record)
  } catch (cause) {
    throw new InvalidData('The data cannot be stored', {}, { cause })
  }
  if (!conditions.every(({ matches }) => matches(compared, isKnown))) refuse()
}

function refuse(): never {
  throw new AccessDenied('The data is of a record that you cannot access')
}

describeFunction(limitTo, { hookFactory: 'limitTo(({ user }) => ({ ownerId: user._id }))' })
