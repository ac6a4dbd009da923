import { BadRequest } from '../../core/errors/index.ts'
import { isObject, isPromise } from '../../core/value-kind.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { checkId, isSameId } from '../object-id.ts'
import { checkValue } from './data-check.ts'
import { checkUpdateOperator } from './update-check.ts'

/** The data of one record, or update operators. */
export type WriteData = Readonly<Record<string, unknown>>

/**
 * Checks that data is one record.
 * @throws {BadRequest} an array, `null` or no object
 * @throws {TypeError} a promise, of a list or set by a hook
 */
export function checkRecord(data: unknown): asserts data is WriteData {
  if (isPromise(data)) throw new TypeError('The data is a promise: await it first')
  if (isObject(data) && !Array.isArray(data)) return
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
 * Checks data that a caller outside sent for new records, one or a list.
 * @throws {BadRequest} more records than `limits.records`, or as in {@link checkNewRecord}
 */
export function checkNewRecords(data: unknown, settings: MongoDBSettings): void {
  const limit = settings.limits.records
  // Not `length > limit`: that is false for a limit of `undefined` or `NaN`.
  if (Array.isArray(data) && !(data.length <= limit)) {
    throw new BadRequest(`The data has more than ${limit} records`)
  }
  for (const record of toRecords(data)) checkNewRecord(record, settings)
}

/**
 * Checks data that a caller outside sent for a new record: fields only, and no id, unless the
 * option `allowClientId` lets callers choose a usable one.
 * @throws {BadRequest} operators, dotted names, numbers that JSON can't hold, an id
 */
export function checkNewRecord(data: WriteData, settings: MongoDBSettings): void {
  checkValue(data)
  for (const name of ['_id', settings.id]) {
    if (data[name] === undefined) continue
    if (!settings.allowClientId) throw createIdError(name)
    checkId(data[name])
  }
}

/** Returns the error for an id that a caller outside may not choose. */
export function createIdError(name: string): BadRequest {
  return new BadRequest(`The field '${name}' is set by the server`)
}

/**
 * Checks data that a caller outside sent for `update` or `patch`: operators and dotted names only
 * as the option `updateOperators` lists them, and no other id than the record's.
 * @throws {BadRequest} as in {@link checkNewRecord}
 */
export function checkChange(data: unknown, id: unknown, settings: MongoDBSettings): void {
  checkRecord(data)
  for (const [name, value] of Object.entries(data)) {
    if (name.startsWith('$')) checkUpdateOperator(name, value, settings)
  }
  const fields = Object.entries(data).filter(([name]) => !name.startsWith('$'))
  const paths = settings.updateOperators.filter((name) => !name.startsWith('$'))
  checkValue(Object.fromEntries(fields), 0, new Set(paths))
  const given = data[settings.id]
  if (given !== undefined && !isSameId(given, id)) {
    throw new BadRequest(`The field '${settings.id}' of a record can not be changed`)
  }
}
