import type { Document } from 'mongodb'

import { BadRequest } from '../core/errors/index.ts'
import { isObject, isPlainObject } from '../core/value-kind.ts'
import { getIdKey } from './object-id.ts'
import type { WriteData } from './writes/write-data.ts'

/** The options that say how records are spread over shards. */
interface ShardSettings {
  /** The field that ids refer to. */
  readonly id: string
  readonly shardKey: readonly string[]
}

/** Operators that may give a field of the shard key the value which it has. */
const SETTING: ReadonlySet<string> = new Set(['$set', '$setOnInsert'])

/**
 * Checks that a command on one record goes to one shard. The id is in each such command.
 * @param filter the conditions of the query, and of `$match` stages that are taken for conditions
 * @throws {BadRequest} it has no equality for a field of the shard key; names the field
 */
export function checkTarget(filter: Document, { id, shardKey }: ShardSettings): void {
  const missing = shardKey.find(
    (field) => field !== id && findEquality(filter, field) === undefined,
  )
  if (missing === undefined) return
  throw new BadRequest(
    `The query must have one value for '${missing}', which is part of the shard key`,
  )
}

/**
 * Checks the data of a record that is stored as a whole.
 * @throws {BadRequest} it has no value for a field of the shard key; names the field
 */
export function checkShardValues(data: WriteData, settings: ShardSettings): void {
  const missing = listDataFields(settings).find((field) => !isValue(findValue(data, field)))
  if (missing === undefined) return
  throw new BadRequest(
    `The data must have one value for '${missing}', which is part of the shard key`,
  )
}

/**
 * Checks that data changes no field of the shard key: the record would have to move to another shard.
 * @param filter conditions whose equalities tell the values that the record has
 * @throws {BadRequest} it does, or may; names the field
 */
export function checkShardKeyKept(
  data: WriteData,
  filter: Document,
  settings: ShardSettings,
): void {
  const fields = listDataFields(settings)
  for (const [name, value] of Object.entries(data)) {
    if (!name.startsWith('$')) checkField(name, value, filter, fields)
    else if (isObject(value)) checkOperator(name, value, filter, settings)
  }
}

/**
 * Returns the values of data for those fields of the shard key that a filter says nothing of, as
 * conditions.
 */
export function createMissingConditions(
  data: WriteData,
  filter: Document,
  settings: ShardSettings,
): Document {
  const missing = listDataFields(settings).filter(
    (field) => findEquality(filter, field) === undefined,
  )
  return Object.fromEntries(missing.map((field) => [field, findValue(data, field)]))
}

/**
 * Returns conditions that tell the shard of a record which was written, as far as its fields or the
 * filter that has found it say.
 */
export function createShardConditions(
  record: Document,
  filter: Document,
  { shardKey }: ShardSettings,
): Document {
  const values = shardKey.flatMap((field): [string, unknown][] => {
    const value = findValue(record, field) ?? findEquality(filter, field)
    return isValue(value) ? [[field, value]] : []
  })
  return Object.fromEntries(values)
}

/** The id of a record is known, and it is taken out of data: data need not have it. */
function listDataFields({ id, shardKey }: ShardSettings): readonly string[] {
  return shardKey.filter((field) => field !== id && field !== '_id')
}

/** Returns the value that a field must equal by a filter: at its top, or inside of `$and` there. */
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

/** Returns what stands in a record at the path of a field. */
function findValue(record: unknown, field: string): unknown {
  let value = record
  for (const name of field.split('.')) {
    if (!isObject(value) || Array.isArray(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** Whether MongoDB finds one shard by a value: no lists, and in a filter neither patterns nor operators. */
function isValue(value: unknown): boolean {
  if (value === undefined || Array.isArray(value) || value instanceof RegExp) return false
  return !isPlainObject(value) || !Object.keys(value).some((name) => name.startsWith('$'))
}

function checkOperator(
  name: string,
  operands: object,
  filter: Document,
  settings: ShardSettings,
): void {
  for (const [path, operand] of Object.entries(operands)) {
    if (SETTING.has(name)) checkField(path, operand, filter, listDataFields(settings))
    else {
      const paths = name === '$rename' ? [path, operand] : [path]
      const changed = settings.shardKey.find((field) =>
        paths.some((one) => isRelated(String(one), field)),
      )
      if (changed !== undefined) refuseChange(changed)
    }
  }
}

function checkField(
  path: string,
  value: unknown,
  filter: Document,
  fields: readonly string[],
): void {
  // `undefined` is left out of data.
  if (value === undefined) return
  for (const field of fields.filter((one) => isRelated(path, one))) {
    const isInside = path.startsWith(`${field}.`)
    const given = path === field ? value : findValue(value, field.slice(path.length + 1))
    const stored = findEquality(filter, field)
    const isSame =
      stored !== undefined && given !== undefined && getIdKey(given) === getIdKey(stored)
    if (isInside || !isSame) refuseChange(field)
  }
}

/** Whether one of two paths is the other, or lies in it. */
function isRelated(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`) || field.startsWith(`${path}.`)
}

function refuseChange(field: string): never {
  throw new BadRequest(`The field '${field}' is part of the shard key and can not be changed`)
}
