import type { Document } from 'mongodb'
import { FieldNotWritable, ShardKeyRequired } from '../core/errors/coded-errors.ts'

import { isObject, isPlainObject } from '../core/value-kind.ts'
import type { AdapterCall } from './adapter-call.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import { getIdKey } from './object-id.ts'
import { absorbMatches } from './pipelines/framework-stages.ts'
import type { WriteData } from './writes/write-data.ts'

/** Operators that may set a shard key field to its current value. */
const SETTING: ReadonlySet<string> = new Set(['$set', '$setOnInsert'])

/**
 * Checks that a call on one record goes to one shard. Each such command contains the id.
 * @throws {BadRequest} its conditions lack an equality for a field of the shard key; names the field
 */
export function checkTarget(call: AdapterCall): void {
  const { id, shardKey } = call.settings
  if (shardKey.length === 0) return
  const filter = getFullFilter(call)
  const missing = shardKey.find(
    (field) => field !== id && findEquality(filter, field) === undefined,
  )
  if (missing === undefined) return
  throw new ShardKeyRequired(
    `The query must have one value for '${missing}', which is part of the shard key`,
  )
}

/**
 * Checks the data of a whole record.
 * @throws {BadRequest} it lacks a value for a field of the shard key; names the field
 */
export function checkShardValues(data: WriteData, settings: MongoDBSettings): void {
  const missing = listDataFields(settings).find((field) => !isValue(findValue(data, field)))
  if (missing === undefined) return
  throw new ShardKeyRequired(
    `The data must have one value for '${missing}', which is part of the shard key`,
  )
}

/**
 * Checks that data changes no field of the shard key: the record would have to move to another shard. The
 * equalities of the conditions give its current values.
 * @throws {BadRequest} it does, or may; names the field
 */
export function checkShardKeyKept(call: AdapterCall, data: WriteData): void {
  const { settings } = call
  if (settings.shardKey.length === 0) return
  const filter = getFullFilter(call)
  for (const [name, value] of Object.entries(data)) {
    if (!name.startsWith('$')) checkField(name, value, filter, settings)
    else if (isObject(value)) checkOperator(name, value, filter, settings)
  }
}

/**
 * Returns a call that replaces a record, with conditions for the shard key fields that its query lacks, taken
 * from the new record.
 * @throws {BadRequest} as {@link checkShardValues}, {@link checkTarget} and {@link checkShardKeyKept}
 */
export function withShardValues(call: AdapterCall, data: WriteData): AdapterCall {
  const { settings, query } = call
  checkShardValues(data, settings)
  const filter = getFullFilter(call)
  const missing = listDataFields(settings).filter(
    (field) => findEquality(filter, field) === undefined,
  )
  const conditions = Object.fromEntries(missing.map((field) => [field, findValue(data, field)]))
  const targeted = { ...query, filter: { $and: [query.filter, conditions] } }
  const placed = missing.length === 0 ? call : { ...call, query: targeted }
  checkTarget(placed)
  checkShardKeyKept(placed, data)
  return placed
}

/**
 * Returns conditions that target the shard of a written record, as far as its fields or the filter that found
 * it determine it.
 */
export function createShardConditions(
  record: Document,
  filter: Document,
  { shardKey }: MongoDBSettings,
): Document {
  const values = shardKey.flatMap((field): [string, unknown][] => {
    const value = findValue(record, field) ?? findEquality(filter, field)
    return isValue(value) ? [[field, value]] : []
  })
  return Object.fromEntries(values)
}

/** Returns all conditions that the records of a call are found by. */
function getFullFilter(call: AdapterCall): Document {
  return absorbMatches(call).query.filter
}

/** The id is known and removed from data: data does not need it. */
function listDataFields({ id, shardKey }: MongoDBSettings): readonly string[] {
  return shardKey.filter((field) => field !== id && field !== '_id')
}

/** Returns the value that a filter requires a field to equal, at its top or inside a top-level `$and`. */
function findEquality(filter: unknown, field: string): unknown {
  if (!isPlainObject(filter)) return undefined
  const condition = Object.hasOwn(filter, field) ? filter[field] : undefined
  const value =
    isPlainObject(condition) && Object.hasOwn(condition, '$eq') ? condition['$eq'] : condition
  if (isValue(value)) return value
  const { $and } = filter
  if (!Array.isArray($and)) return undefined
  return $and.map((one) => findEquality(one, field)).find((one) => one !== undefined)
}

/** Returns the value at the path of a field in a record. */
function findValue(record: unknown, field: string): unknown {
  let value = record
  for (const name of field.split('.')) {
    if (!isObject(value) || Array.isArray(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** Whether a value targets one shard: not a list, a pattern or an operator. */
function isValue(value: unknown): boolean {
  if (value === undefined || Array.isArray(value) || value instanceof RegExp) return false
  return !isPlainObject(value) || !Object.keys(value).some((name) => name.startsWith('$'))
}

function checkOperator(
  name: string,
  operands: object,
  filter: Document,
  settings: MongoDBSettings,
): void {
  for (const [path, operand] of Object.entries(operands)) {
    if (SETTING.has(name)) checkField(path, operand, filter, settings)
    else {
      const paths = name === '$rename' ? [path, String(operand)] : [path]
      const changed = settings.shardKey.find((field) => paths.some((one) => isRelated(one, field)))
      if (changed !== undefined) refuseChange(changed)
    }
  }
}

function checkField(
  path: string,
  value: unknown,
  filter: Document,
  settings: MongoDBSettings,
): void {
  // `undefined` is left out of data.
  if (value === undefined) return
  for (const field of listDataFields(settings).filter((one) => isRelated(path, one))) {
    const given = path === field ? value : findValue(value, field.slice(path.length + 1))
    const stored = findEquality(filter, field)
    const isSame =
      stored !== undefined && given !== undefined && getIdKey(given) === getIdKey(stored)
    if (path.startsWith(`${field}.`) || !isSame) refuseChange(field)
  }
}

/** Whether two paths are equal or one contains the other. */
function isRelated(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`) || field.startsWith(`${path}.`)
}

function refuseChange(field: string): never {
  throw new FieldNotWritable(`The field '${field}' is part of the shard key and cannot be changed`)
}
