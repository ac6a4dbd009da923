import type {
  Collection,
  Document,
  FindOneAndUpdateOptions,
  InsertManyResult,
  ModifyResult,
} from 'mongodb'
import { noteEvent } from '../../core/hooks/method-call.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { toDatabaseError } from '../driver-error.ts'
import { createWriteOptions } from '../driver-options.ts'
import type { AdapterId } from '../object-id.ts'
import { checkFound, chooseCallFields, createIdFilter } from '../queries/find.ts'
import type { FieldChoice } from '../queries/select.ts'
import { omitFields, pickSelected } from '../queries/select.ts'
import type { WriteData } from './write-data.ts'
import { createDocument, createReplacement, createUpdate, hasOperators } from './write-data.ts'

type ChangeOptions = FindOneAndUpdateOptions & {
  hint?: Exclude<FindOneAndUpdateOptions['hint'], string>
  includeResultMetadata: true
}

/** Resolves to the new record, put together from the data and its id: one command. */
export async function createRecord(call: AdapterCall, data: WriteData): Promise<Document> {
  const document = createDocument(data, call.settings)
  const { insertedId } = await call.collection.insertOne(document, createWriteOptions(call.driver))
  return pickCreated(call, document, insertedId)
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
  const documents = list.map((data) => createDocument(data, call.settings))
  const { insertedIds } = await insertAll(call, documents)
  return documents.map((document, index) => pickCreated(call, document, insertedIds[index]))
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
  const replacement = createReplacement(data, call.settings.id, id)
  const fields = chooseCallFields(call)
  const options = createChangeOptions(call, fields)
  const filter = createIdFilter(call, id)
  const result = await call.collection.findOneAndReplace(filter, replacement, options)
  return readChanged(result, id, fields)
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
  const update = createUpdate(data, call.settings.id)
  const fields = chooseCallFields(call)
  const options = createChangeOptions(call, fields)
  const result = await call.collection.findOneAndUpdate(createIdFilter(call, id), update, options)
  return readChanged(result, id, fields)
}

/**
 * Resolves to the record as it was: one command.
 * @throws {NotFound} no record has this id, or the query excludes it
 */
export async function removeRecord(call: AdapterCall, id: AdapterId): Promise<Document> {
  const fields = chooseCallFields(call)
  const options = { ...fields.options, ...createWriteOptions(call.driver) }
  const filter = createIdFilter(call, id)
  const removed = await call.collection.findOneAndDelete(filter, {
    ...options,
    includeResultMetadata: false,
  })
  return checkFound(removed, id, fields)
}

async function insertAll(
  { collection, driver }: AdapterCall,
  documents: Document[],
): Promise<InsertManyResult> {
  try {
    return await collection.insertMany(documents, createWriteOptions(driver))
  } catch (error) {
    const key = await findDuplicateKey(collection, error)
    throw key === undefined ? error : toDatabaseError(error, key)
  }
}

function pickCreated(call: AdapterCall, document: Document, insertedId: unknown): Document {
  const created = { _id: insertedId, ...document }
  const { select } = call.query
  const selected = select === undefined ? created : pickSelected(created, select, call.settings.id)
  return omitFields(selected, call.hidden)
}

/** Returns the record of a change, with the event of a new one where an upsert has added it. */
function readChanged(result: ModifyResult, id: AdapterId, fields: FieldChoice): Document {
  const record = checkFound(result.value ?? null, id, fields)
  if (result.lastErrorObject?.['updatedExisting'] === false) noteEvent(record, 'created')
  return record
}

function createChangeOptions(call: AdapterCall, fields: FieldChoice): ChangeOptions {
  return {
    ...fields.options,
    ...createWriteOptions(call.driver),
    returnDocument: 'after',
    includeResultMetadata: true,
  }
}

const DUPLICATE = 11000

/**
 * Resolves to the key of the unique index that a list of new records broke, `{ email: 1 }`;
 * `undefined` for other errors, and where the index can not be told.
 *
 * The server sends the key, but of an error in `insertMany` the driver keeps the text alone. That
 * names the index before any value, so that no value of a caller can pass for a name.
 */
export async function findDuplicateKey(
  collection: Collection,
  thrown: unknown,
): Promise<object | undefined> {
  if (!isDuplicate(thrown)) return undefined
  const start = `E11000 duplicate key error collection: ${collection.namespace} index: `
  const ends = [' dup key: ', ' collation: ']
  try {
    const indexes = await collection.listIndexes().toArray()
    const broken = indexes.find(({ name }) =>
      ends.some((end) => thrown.message.startsWith(`${start}${name}${end}`)),
    )
    return broken?.key
  } catch {
    // The names are an addition: what the caller has to learn of is the duplicate.
    return undefined
  }
}

function isDuplicate(thrown: unknown): thrown is Error {
  return thrown instanceof Error && (thrown as { readonly code?: unknown }).code === DUPLICATE
}
