import { BadRequest } from '../core/errors/index.ts'
import type { MongoDBSettings } from './mongodb-options.ts'
import { checkId, isSameId } from './object-id.ts'
import { isPlainObject } from './plain-object.ts'

/** What the server stores at most; also bounds the recursion here. */
const MAX_DEPTH = 100

/** Keys inside update operators that say how and not what: `{ $push: { tags: { $each: […] } } }`. */
const MODIFIERS: ReadonlySet<string> = new Set([
  ...['$each', '$position', '$slice', '$sort', '$eq', '$ne', '$in', '$nin'],
  ...['$lt', '$lte', '$gt', '$gte'],
])

/** The data of one record, or update operators. */
export type WriteData = Readonly<Record<string, unknown>>

/**
 * Checks that data is one record.
 * @throws {BadRequest} an array, `null` or no object
 */
export function checkRecord(data: unknown): asserts data is WriteData {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return
  throw new BadRequest('The data must be an object')
}

/**
 * Returns the records of `create`, one or many, as a list.
 * @throws {BadRequest} one of them is no object
 */
export function toRecords(data: unknown): WriteData[] {
  return (Array.isArray(data) ? data : [data]).map((record: unknown) => {
    checkRecord(record)
    return record
  })
}

/**
 * Checks data that a caller outside sent for a new record: fields only, and a usable id.
 * @throws {BadRequest} operators, dotted names, numbers that JSON has no text for, a broken id
 */
export function checkNewRecord(data: WriteData, settings: MongoDBSettings): void {
  checkFields(data, [], 0)
  for (const name of ['_id', settings.id]) if (data[name] !== undefined) checkId(data[name])
}

/**
 * Checks data that a caller outside sent for `update` or `patch`: operators and dotted names only as
 * the option `updateOperators` lists them, and no other id than the record's.
 * @throws {BadRequest} as in {@link checkNewRecord}
 */
export function checkChange(data: unknown, id: unknown, settings: MongoDBSettings): void {
  checkRecord(data)
  const { updateOperators } = settings
  const dotted = updateOperators.filter(isDotted)
  for (const [name, value] of Object.entries(data)) {
    if (!name.startsWith('$')) continue
    if (!updateOperators.includes(name)) throw new BadRequest(`The operator ${name} is not allowed`)
    checkRecord(value)
    if (Object.hasOwn(value, settings.id) || Object.hasOwn(value, '_id')) {
      throw new BadRequest(`The operator ${name} must not change the id`)
    }
    checkFields(value, [...dotted, ...MODIFIERS], 1)
  }
  const fields = Object.entries(data).filter(([name]) => !name.startsWith('$'))
  checkFields(Object.fromEntries(fields), dotted, 0)
  const given = data[settings.id]
  if (given !== undefined && !isSameId(given, id)) {
    throw new BadRequest(`The field '${settings.id}' of a record can not be changed`)
  }
}

function checkFields(value: unknown, allowed: readonly string[], depth: number): void {
  if (depth > MAX_DEPTH)
    throw new BadRequest(`The data is nested more than ${MAX_DEPTH} levels deep`)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new BadRequest('The data has a number that is not finite')
  }
  if (Array.isArray(value)) for (const item of value) checkFields(item, allowed, depth + 1)
  if (!isPlainObject(value)) return
  for (const [name, inner] of Object.entries(value)) {
    if (isRefused(name) && !allowed.includes(name)) {
      throw new BadRequest(`The data has the field name '${name}', which is not allowed`)
    }
    checkFields(inner, allowed, depth + 1)
  }
}

function isRefused(name: string): boolean {
  return name.startsWith('$') || isDotted(name) || name === '__proto__' || name === '_bsontype'
}

function isDotted(name: string): boolean {
  return name.includes('.')
}
