import type { Document } from 'mongodb'
import { BadRequest } from '../../core/errors/index.ts'
import { isVersion } from '../../core/versions/entity-tag.ts'
import { createUnversionedError, createVersionError } from '../../core/versions/record-version.ts'
import type { AdapterCall } from '../adapter-call.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import type { AdapterId } from '../object-id.ts'
import { createIdFilter, createMissingError } from '../queries/find.ts'
import { createRecordFilter } from '../queries/split-query.ts'
import type { WriteData } from './write-data.ts'
import { createFieldError, takeField } from './write-data.ts'

/** Data of a write, and the call that stores it. */
interface VersionedWrite {
  readonly call: AdapterCall
  readonly data: WriteData
}

/**
 * Takes the version out of the data of a write on one record: it is the one that the caller has read, and
 * a condition as `params.version` is.
 * @throws {BadRequest} it is no version, or an operator is to change it
 */
export function takeVersion(call: AdapterCall, data: WriteData): VersionedWrite {
  const { version: field } = call.settings
  if (field === undefined) return { call, data }
  const { value: version, others } = takeField(data, field)
  if (version === undefined) return { call, data: others }
  if (!isVersion(version)) {
    throw new BadRequest(`The field '${field}' must be the version that the record has`)
  }
  const { expected = [version] } = call
  return { call: { ...call, expected: expected.filter((one) => one === version) }, data: others }
}

/**
 * Checks the data of a write on many records, which have no version in common.
 * @throws {BadRequest} it names a version, or an operator is to change it
 */
export function checkNoVersion(data: WriteData, { version: field }: MongoDBSettings): void {
  if (field === undefined) return
  if (takeField(data, field).value !== undefined) throw createFieldError(field)
}

/**
 * Returns an update that replaces a record, but for its id and the fields that are kept, and raises its
 * version if there is a field for it.
 * @param kept with the values that the fields have in a record which is added, `undefined` for none
 */
export function createKeepingReplacement(
  fields: Document,
  field: string | undefined,
  kept: WriteData,
): Document[] {
  const own: Document = { _id: '$_id' }
  for (const [name, added] of Object.entries(kept)) {
    own[name] = added === undefined ? `$${name}` : { $ifNull: [`$${name}`, { $literal: added }] }
  }
  if (field !== undefined) own[field] = { $add: [{ $ifNull: [`$${field}`, 0] }, 1] }
  // What is data must not be read as an expression: a string that begins with `$`, for example.
  return [{ $replaceWith: { $mergeObjects: [{ $literal: fields }, own] } }]
}

/** Returns the filter for the record that is to be written: its id, the query, and its version. */
export function createTargetFilter(call: AdapterCall, id: AdapterId): Document {
  const { expected, settings } = call
  const filter = createIdFilter(call, id)
  if (expected === undefined) return filter
  // Without versions, no record has one of these: the filter matches nothing, and the error tells why.
  const versions = settings.version === undefined ? [] : expected
  const alternatives = versions.includes(0) ? [...versions, null] : versions
  return createRecordFilter(filter, settings.version ?? '_id', { $in: alternatives })
}

/**
 * Throws the reason why no record was written: by a second command where a version was expected.
 * @throws {PreconditionFailed} the record has another version, which is `data.current`
 * @throws {NotFound} none has this id, or the query excludes it
 */
export async function refuseMissing(call: AdapterCall, id: AdapterId): Promise<never> {
  const { collection, driver, expected, settings } = call
  if (expected !== undefined) {
    const { version: field = '_id' } = settings
    const { session, collation } = driver
    const options = {
      projection: { [field]: 1 },
      ...(session && { session }),
      ...(collation && { collation }),
    }
    const found = await collection.findOne(createIdFilter(call, id), options)
    if (found !== null && settings.version === undefined) throw createUnversionedError()
    if (found !== null) throw createVersionError(found[field] ?? 0)
  }
  throw createMissingError(id)
}
