import type {
  Document,
  FindOneAndReplaceOptions,
  FindOneAndUpdateOptions,
  InsertManyResult,
} from 'mongodb'

import type { AdapterCall } from '../adapter-call.ts'
import { toDatabaseError } from '../driver-error.ts'
import { toWriteOptions } from '../driver-options.ts'
import type { AdapterId } from '../object-id.ts'
import { checkFound, findAll, findIds, toFields, toIdFilter } from '../queries/find.ts'
import type { FieldChoice } from '../queries/select.ts'
import { omitFields, pickSelected } from '../queries/select.ts'
import { findDuplicateKey } from './duplicate-key.ts'
import { hasOperators, toNewDocument, toReplacement, toUpdateDocument } from './update-document.ts'
import type { WriteData } from './write-data.ts'

/** Resolves to the new record, put together from the data and its id: one command. */
export async function createRecord(call: AdapterCall, data: WriteData): Promise<Document> {
  const document = toNewDocument(data, call.settings)
  const { insertedId } = await call.collection.insertOne(document, toWriteOptions(call.driver))
  return toCreated(call, document, insertedId)
}

/**
 * Resolves to the new records in the order of the data: one command, none for an empty list.
 * @throws {Conflict} a duplicate; a second command has told the fields
 */
export async function createRecords(
  call: AdapterCall,
  list: readonly WriteData[],
): Promise<Document[]> {
  if (list.length === 0) return []
  const documents = list.map((data) => toNewDocument(data, call.settings))
  const { insertedIds } = await insertAll(call, documents)
  return documents.map((document, index) => toCreated(call, document, insertedIds[index]))
}

/**
 * Resolves to the record after it was replaced, or changed when the data holds update operators:
 * one command.
 * @throws {NotFound} no record has this id, or the query excludes it
 */
export async function updateRecord(
  call: AdapterCall,
  id: AdapterId,
  data: WriteData,
): Promise<Document> {
  if (hasOperators(data)) return patchRecord(call, id, data)
  const replacement = toReplacement(data, call.settings.id, id)
  const fields = toFields(call)
  const options = toChangeOptions(call, fields) as FindOneAndReplaceOptions
  const filter = toIdFilter(call, id)
  const updated = await call.collection.findOneAndReplace(filter, replacement, options)
  return checkFound(updated, id, fields)
}

/**
 * Resolves to the record after the change: one command.
 * @throws {NotFound} no record has this id, or the query excludes it
 */
export async function patchRecord(
  call: AdapterCall,
  id: AdapterId,
  data: WriteData,
): Promise<Document> {
  const update = toUpdateDocument(data, call.settings.id)
  const fields = toFields(call)
  const options = toChangeOptions(call, fields)
  const patched = await call.collection.findOneAndUpdate(toIdFilter(call, id), update, options)
  return checkFound(patched, id, fields)
}

/**
 * Resolves to all records that matched, after the change: three commands, one when nothing matches.
 * The ids are fixed first, so that a change of the queried field loses no record of the result.
 */
export async function patchRecords(call: AdapterCall, data: WriteData): Promise<Document[]> {
  const { query } = call
  const update = toUpdateDocument(data, call.settings.id)
  const ids = await findIds(call)
  if (ids.length === 0) return []
  const filter = await changeAll(call, ids, update)
  return findAll({ ...call, query: { ...query, filter, limit: undefined, skip: 0 } })
}

/** Changes records that were found before. Resolves to the filter for those that were changed. */
export async function changeAll(
  { collection, query, driver }: AdapterCall,
  ids: readonly unknown[],
  update: Document,
): Promise<Document> {
  // The conditions again: another call may have moved a record out of the caller's reach.
  const filter = toMatching(ids, query.filter)
  const options = { ...toWriteOptions(driver), upsert: false }
  const { matchedCount } = await collection.updateMany(filter, update, options)
  return matchedCount === ids.length ? { _id: { $in: ids } } : filter
}

/**
 * Resolves to the record as it was: one command.
 * @throws {NotFound} no record has this id, or the query excludes it
 */
export async function removeRecord(call: AdapterCall, id: AdapterId): Promise<Document> {
  const fields = toFields(call)
  const options = { ...fields.options, ...toWriteOptions(call.driver) }
  const filter = toIdFilter(call, id)
  const removed = await call.collection.findOneAndDelete(filter, {
    ...options,
    includeResultMetadata: false,
  })
  return checkFound(removed, id, fields)
}

/** Resolves to all records that matched, as they were: two commands, one when nothing matches. */
export async function removeRecords(call: AdapterCall): Promise<Document[]> {
  const { query, driver } = call
  const projection = driver.projection && { ...driver.projection, _id: 1 }
  const readable = { ...driver, ...(projection === undefined ? {} : { projection }) }
  const all = { ...query, limit: undefined }
  const records = await findAll({ ...call, driver: readable, query: all })
  if (records.length === 0) return []
  return removeAll(
    call,
    records.map(({ _id }) => _id),
    records,
  )
}

/** Removes records that were found before. Resolves to those of them that were removed. */
export async function removeAll(
  call: AdapterCall,
  ids: readonly unknown[],
  records: Document[],
): Promise<Document[]> {
  const { collection, query, driver } = call
  const filter = toMatching(ids, query.filter)
  const { deletedCount } = await collection.deleteMany(filter, toWriteOptions(driver))
  if (deletedCount === ids.length) return records
  // Another call was quicker with some of them: what is still there was not removed.
  const remaining = { ...query, filter: { _id: { $in: ids } }, skip: 0 }
  const kept = new Set((await findIds({ ...call, query: remaining })).map(String))
  return records.filter(({ _id }) => !kept.has(String(_id)))
}

async function insertAll(
  { collection, driver }: AdapterCall,
  documents: Document[],
): Promise<InsertManyResult> {
  try {
    return await collection.insertMany(documents, toWriteOptions(driver))
  } catch (error) {
    throw toDatabaseError(error, await findDuplicateKey(collection, error))
  }
}

function toCreated(call: AdapterCall, document: Document, insertedId: unknown): Document {
  const created = { _id: insertedId, ...document }
  const { select } = call.query
  const selected = select === undefined ? created : pickSelected(created, select, call.settings.id)
  return omitFields(selected, call.hidden)
}

function toChangeOptions(
  call: AdapterCall,
  fields: FieldChoice,
): FindOneAndUpdateOptions & { includeResultMetadata: false } {
  return {
    ...fields.options,
    ...toWriteOptions(call.driver),
    returnDocument: 'after',
    includeResultMetadata: false,
  }
}

function toMatching(ids: readonly unknown[], filter: Document): Document {
  return { $and: [{ _id: { $in: ids } }, filter] }
}
