import type { Collection, Document, FindOneAndUpdateOptions, ModifyResult } from 'mongodb'
import { addNotes } from '../../core/external-form.ts'
import { noteEvent } from '../../core/hooks/method-call.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { takeStep } from '../adapter-call.ts'
import { isAnswer } from '../driver-error.ts'
import { createWriteOptions } from '../mongodb-params.ts'
import type { AdapterId } from '../object-id.ts'
import { chooseFields, createIdFilter, createMissingError } from '../queries/find.ts'
import { omitFields, showFields } from '../queries/select.ts'
import { toStoredForm } from './stored-form.ts'
import type { WriteData } from './write-data.ts'
import { createDocument, createReplacement, createUpdate } from './write-data.ts'

type ChangeOptions = FindOneAndUpdateOptions & {
  hint?: Exclude<FindOneAndUpdateOptions['hint'], string>
  includeResultMetadata: true
}

/** Resolves to the new record as stored, built from the data and its id, by one command. */
export async function insertRecord(call: AdapterCall, data: WriteData): Promise<Document> {
  const document = takeStep(call, 'toNew', createDocument(data, call.settings))
  const stored = toStoredForm(call, document)
  const { insertedId } = await call.collection.insertOne(document, createWriteOptions(call.driver))
  return pickCreated(call, stored, insertedId)
}

/**
 * Resolves to the replaced record, by one command.
 * @param kept the fields that stay as stored, with the values for a record that an upsert adds
 * @throws {NotFound} no record has this id, or the query excludes it
 */
export function replaceById(
  call: AdapterCall,
  id: AdapterId,
  data: WriteData,
  kept: WriteData,
): Promise<Document> {
  const { collection, settings, rules } = call
  const replacement = createReplacement(data, settings.id, id)
  const own: Document = {}
  for (const [name, added] of Object.entries(kept)) {
    own[name] = added === undefined ? `$${name}` : { $ifNull: [`$${name}`, { $literal: added }] }
  }
  for (const rule of rules) Object.assign(own, rule.computed)
  const isWhole = Object.keys(own).length === 0
  return writeById(call, id, (filter, options) =>
    isWhole
      ? collection.findOneAndReplace(filter, replacement, options)
      : collection.findOneAndUpdate(filter, createReplacingStages(replacement, own), options),
  )
}

/** Returns stages that replace a record, except its id and the fields set by expressions. */
function createReplacingStages(fields: Document, own: Document): Document[] {
  // Data must not be read as an expression, such as a string that begins with `$`.
  const all = { $mergeObjects: [{ $literal: fields }, { _id: '$_id', ...own }] }
  return [{ $replaceWith: all }]
}

/**
 * Resolves to the changed record, by one command.
 * @throws {NotFound} no record has this id, or the query excludes it
 */
export function changeById(call: AdapterCall, id: AdapterId, data: WriteData): Promise<Document> {
  const update = takeStep(call, 'toUpdate', createUpdate(data, call.settings))
  return writeById(call, id, (filter, options) =>
    call.collection.findOneAndUpdate(filter, update, options),
  )
}

/**
 * Resolves to the record as it was when it was removed, by one command.
 * @throws {NotFound} no record has this id, or the query excludes it
 */
export async function deleteById(call: AdapterCall, id: AdapterId): Promise<Document> {
  const fields = chooseFields(call)
  const removed = await call.collection.findOneAndDelete(
    takeStep(call, 'aim', createIdFilter(call, id)),
    {
      ...fields.options,
      ...createWriteOptions(call.driver),
      includeResultMetadata: false,
    },
  )
  const record = removed ?? (await refuseMissing(call, id))
  return fields.omitted.length === 0 ? record : omitFields(record, fields.omitted)
}

/**
 * Resolves to one or many removed records with the fields of a call. If a rule keeps them as they were
 * stored, whole records are read, unless a projection or a pipeline of the call decides what is read.
 * @param remove resolves to the records, with the fields of the call that it gets
 * @param mark the fields that mark records instead of removing them
 */
export async function removeNoting<Removed extends Document | Document[]>(
  call: AdapterCall,
  remove: (call: AdapterCall) => Promise<Removed>,
  mark: Document = {},
): Promise<Removed> {
  const { rules, driver, pipeline, query } = call
  const isNoted = rules.some((rule) => rule.notesRemoved)
  if (!isNoted || driver.projection !== undefined || pipeline !== null) return remove(call)
  const removed = await remove({ ...call, hidden: [], query: { ...query, select: undefined } })
  const show = (record: Document): Document => showRemoved(call, record, mark)
  return (Array.isArray(removed) ? removed.map(show) : show(removed)) as Removed
}

/** Returns a removed record with the fields of a call, and keeps it as it was stored. */
function showRemoved(call: AdapterCall, record: Document, mark: Document): Document {
  const { settings, query, hidden } = call
  const marked = Object.keys(mark)
  const before = omitFields(record, marked)
  const stored = marked.length === 0 ? before : takeStep(call, 'unmark', before)
  const shown = showFields(record, { select: query.select, hidden, id: settings.id })
  addNotes(shown, { stored })
  return shown
}

/** Resolves to a record after a write. If an upsert added it, its event is that of a new record. */
async function writeById(
  call: AdapterCall,
  id: AdapterId,
  write: (filter: Document, options: ChangeOptions) => Promise<ModifyResult>,
): Promise<Document> {
  const fields = chooseFields(call)
  const { value, lastErrorObject } = await write(takeStep(call, 'aim', createIdFilter(call, id)), {
    ...fields.options,
    ...createWriteOptions(call.driver),
    returnDocument: 'after',
    includeResultMetadata: true,
  })
  const written = value ?? (await refuseMissing(call, id))
  const record = fields.omitted.length === 0 ? written : omitFields(written, fields.omitted)
  if (lastErrorObject?.['updatedExisting'] === false) noteEvent(record, 'created')
  return record
}

/**
 * @throws {ServiceError} a rule knows why no record was written
 * @throws {NotFound} none has this id, or the query excludes it
 */
async function refuseMissing(call: AdapterCall, id: AdapterId): Promise<never> {
  for (const rule of call.rules) await rule.explainMissing?.(call, id)
  throw createMissingError(id)
}

/** Returns an inserted record as its call shows it. */
export function pickCreated(call: AdapterCall, stored: Document, insertedId: unknown): Document {
  const { settings, query, hidden } = call
  const created = { _id: insertedId, ...stored }
  return showFields(created, { select: query.select, hidden, id: settings.id })
}

/** The server's code for a duplicate. */
const DUPLICATE = 11000

/**
 * Resolves to the key of the unique index that a list of new records violated, such as `{ email: 1 }`;
 * `undefined` for other errors, or if the index is unknown.
 *
 * The server sends the key, but for errors of `insertMany` the driver keeps only the text. The text names the
 * index before any value, so a caller's value cannot be mistaken for a name.
 */
export async function findDuplicateKey(
  collection: Collection,
  thrown: unknown,
): Promise<object | undefined> {
  const isDuplicate = isAnswer(thrown) && thrown.code === DUPLICATE
  if (!isDuplicate) return undefined
  const start = `E11000 duplicate key error collection: ${collection.namespace} index: `
  const ends = [' dup key: ', ' collation: ']
  try {
    const indexes = await collection.listIndexes().toArray()
    const broken = indexes.find(({ name }) =>
      ends.some((end) => thrown.message.startsWith(`${start}${name}${end}`)),
    )
    return broken?.key
  } catch {
    // Naming the fields is optional: the caller must get the duplicate error in any case.
    return undefined
  }
}
