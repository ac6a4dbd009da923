import type { Document } from 'mongodb'
import type { Hook, HookContext } from '../../core/application-defaults.ts'
import { BadRequest, Forbidden } from '../../core/errors/index.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { Params, Query } from '../../core/params.ts'
import type { RecordConditions } from '../../core/services/record-query.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { setRule } from '../call-rules.ts'
import { relate } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { isSameId, toStoredId } from '../object-id.ts'
import { splitQuery } from '../queries/split-query.ts'
import { createJudge } from '../record-view.ts'
import { resolveCallSettings } from '../resolve-options.ts'
import type { WriteData } from '../writes/write-data.ts'
import { hasOperators, listWrittenPaths } from '../writes/write-data.ts'
import { createRecordHook, storesData } from './record-hook.ts'

/** A condition by its name: that of a field, or an operator as `$or`. */
interface Condition {
  readonly name: string
  readonly value: unknown
  /** Whether a record matches; made for the first one that is judged. */
  matches?: (record: object) => boolean
}

/**
 * Returns a before hook by which callers outside reach the records that match a condition, and no others: in
 * all methods that it is a hook of, and in live queries. It is a part of each command, whatever query the
 * caller or another hook has set. New records and replacements get the values of the condition that they
 * lack, and have to match it; a patch may not set what does not.
 * @param restrict returns the condition; `{}` for all records
 * @throws {Forbidden} in calls: there is no condition, or the data does not match it
 */
export function limitTo<T = Document>(
  restrict: (params: Params) => Limit<T> | Promise<Limit<T>>,
): Hook {
  if (typeof restrict !== 'function') {
    throw new TypeError('limitTo() needs a function that returns a condition')
  }
  const hook = createRecordHook('limitTo', async (context, service) => {
    if (context.params.provider === undefined) {
      setRule(context, hook, undefined)
      return
    }
    const conditions = await restrict(context.params)
    if (!isPlainObject(conditions)) throw new Forbidden('You can not access these records')
    const settings = resolveCallSettings(service.options, context.params)
    const filter = toFilter(conditions, settings)
    if (storesData(context.method)) context.data = limitData(context, settings, filter)
    setRule(context, hook, { filter })
  })
  return hook
}

/** What a caller may reach: conditions on the fields of a record, or nothing for no record. */
type Limit<T> = RecordConditions<NoInfer<T>> | null | undefined

/** What a query says beside its conditions. */
const NO_CONDITIONS = ['$limit', '$skip', '$sort', '$select', '$search', '$text']

function toFilter(conditions: Query, settings: MongoDBSettings): Document {
  const other = NO_CONDITIONS.find((name) => Object.hasOwn(conditions, name))
  if (other === undefined) return splitQuery(conditions, settings).filter
  throw new TypeError(`limitTo(): ${other} is no condition on fields`)
}

/** Returns data that leads to records which match. */
function limitData(context: HookContext, settings: MongoDBSettings, filter: Document): unknown {
  const { data, method, id } = context
  const all = listConditions(filter)
  const isOfId = ({ name }: Condition): boolean => name === '_id' || name === settings.id
  // The filter finds the id of a record that is there. A new record has its own: no condition gives it one.
  const conditions = all.filter((one) => !isOfId(one))
  const limitNew = (item: unknown): unknown => {
    const limited = limitRecord(item, conditions)
    if (isObject(limited)) for (const one of all.filter(isOfId)) checkId(one, limited, settings)
    return limited
  }
  if (method === 'create') return Array.isArray(data) ? data.map(limitNew) : limitNew(data)
  if (!isObject(data)) return data
  if (method === 'patch' || hasOperators(data)) return limitChange(data, conditions)
  return limitRecord(data, conditions, { [settings.id]: toStoredId(id as string, settings) })
}

/** @throws {Forbidden} a new record does not have an id that matches */
function checkId(condition: Condition, record: WriteData, settings: MongoDBSettings): void {
  const { name } = condition
  const id = record[name]
  if (id === undefined || id === null) refuse()
  checkMatch(condition, { [name]: toStoredId(id as string, { ...settings, id: name }) })
}

/** Returns the conditions that hold together, those inside of `$and` one by one. */
function listConditions(filter: Document): Condition[] {
  return Object.entries(filter).flatMap(([name, value]): Condition[] =>
    name === '$and' ? (value as Document[]).flatMap(listConditions) : [{ name, value }],
  )
}

function limitRecord(
  item: unknown,
  conditions: readonly Condition[],
  ids: WriteData = {},
): unknown {
  if (!isObject(item)) return item
  const lacking = conditions.filter(({ name }) => item[name] === undefined)
  const record = { ...item, ...Object.fromEntries(lacking.flatMap(readValue)) }
  const limited = withValues(record, conditions)
  const whole = { ...limited, ...ids }
  for (const condition of conditions) checkMatch(condition, whole)
  return limited
}

function limitChange(data: WriteData, conditions: readonly Condition[]): WriteData {
  const limited = withValues(data, conditions)
  const paths = listWrittenPaths(data)
  for (const condition of conditions) {
    const fields = listFields(condition)
    const written = paths.filter((path) => isRelated(path, fields))
    // What an operator makes of a field, nobody knows before.
    if (!written.every((path) => Object.hasOwn(data, path) && !path.includes('.'))) refuse()
    if (written.length > 0) checkMatch(condition, limited)
  }
  return limited
}

function isRelated(path: string, fields: readonly string[]): boolean {
  return relate(path, fields) !== 'apart'
}

/** Returns data with ids as the conditions have them, where it has the same as strings. */
function withValues(data: WriteData, conditions: readonly Condition[]): WriteData {
  const values = conditions.flatMap(readValue).filter(([name, value]) => {
    const given = data[name]
    return given !== undefined && given !== null && isSameId(given, value)
  })
  return { ...data, ...Object.fromEntries(values) }
}

/** Returns the value that a condition demands of a field, as a list of one entry; none where it allows several. */
function readValue({ name, value }: Condition): [name: string, value: unknown][] {
  if (name.startsWith('$') || name.includes('.') || value instanceof RegExp) return []
  if (!isPlainObject(value)) return [[name, value]]
  const [operator, ...others] = Object.keys(value)
  return operator === '$eq' && others.length === 0 ? [[name, value['$eq']]] : []
}

/** Returns the fields that a condition is about. */
function listFields({ name, value }: Condition): string[] {
  if (!name.startsWith('$')) return [name]
  const conditions = Array.isArray(value) ? value.filter(isPlainObject) : []
  return conditions.flatMap(listConditions).flatMap(listFields)
}

/**
 * @throws {Forbidden} a record does not match
 * @throws {BadRequest} it can not be stored
 * @throws {TypeError} only the database can tell
 */
function checkMatch(condition: Condition, record: WriteData): void {
  const { name, value } = condition
  // In a query a value finds lists with it as well: they would be records of several owners.
  if (Array.isArray(record[name]) && readValue(condition).some(([, one]) => !Array.isArray(one))) {
    refuse()
  }
  try {
    condition.matches ??= createJudge({ [name]: value })
  } catch (cause) {
    throw new TypeError(`limitTo(): only the database can tell what matches '${name}'`, { cause })
  }
  let isMatch: boolean
  try {
    isMatch = condition.matches(record)
  } catch (cause) {
    throw new BadRequest('The data can not be stored', {}, { cause })
  }
  if (!isMatch) refuse()
}

function refuse(): never {
  throw new Forbidden('The data is of a record that you can not access')
}

describeFunction(limitTo, { hookFactory: 'limitTo(({ user }) => ({ ownerId: user._id }))' })
