import type { Document, EstimatedDocumentCountOptions, FindCursor, FindOptions } from 'mongodb'
import { RecordNotFound } from '../../core/errors/coded-errors.ts'

import type { NotFound } from '../../core/errors/index.ts'
import type { Page } from '../../core/params.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { takeStep } from '../adapter-call.ts'
import { relate, selectOutermost } from '../field-path.ts'
import type { AdapterId } from '../object-id.ts'
import { toStoredId } from '../object-id.ts'
import { createProjection, omitFields } from './select.ts'
import { createRecordFilter } from './split-query.ts'

/**
 * The size of the first batch. By default the server sends 101 records, and the rest by a second command;
 * with this size it sends as many as fit into a reply of 16 MiB.
 */
export const ALL_IN_ONE_BATCH = 1_000_000

/** Returns a cursor over the records of a query, in its order and with its fields. */
export function openCursor(call: AdapterCall): FindCursor {
  const { filter, limit, skip, sort } = call.query
  const fields = chooseFields(call)
  const options: FindOptions = {
    ...fields.options,
    ...(call.driver as FindOptions),
    ...(sort === undefined ? {} : { sort }),
    ...(skip === 0 ? {} : { skip }),
    ...(limit === undefined ? {} : { limit }),
  }
  const cursor = call.collection.find(filter, options)
  const isShown = call.rules.some((rule) => rule.show !== undefined)
  if (fields.omitted.length === 0 && !isShown) return cursor
  return cursor.map((record) => showFound(call, record, fields))
}

/** Resolves to all records of a query, by one command unless they are more than 16 MiB. */
export async function findAll(call: AdapterCall): Promise<Document[]> {
  const { limit } = call.query
  // For the server, a limit of 0 means no limit.
  if (limit === 0) return []
  const cursor = openCursor(call)
  if (call.driver.batchSize === undefined) {
    cursor.batchSize(Math.min(limit ?? ALL_IN_ONE_BATCH, ALL_IN_ONE_BATCH))
  }
  return cursor.toArray()
}

/** Like {@link findAll}, but only with the `_id` of each record. */
export function findOnlyIds(call: AdapterCall): Promise<Document[]> {
  return findAll({ ...call, hidden: [], driver: { ...call.driver, projection: { _id: 1 } } })
}

/** Resolves to the `_id` of all records of a query, whatever its `$limit`. */
export async function findIds(call: AdapterCall): Promise<unknown[]> {
  const records = await findOnlyIds({ ...call, query: { ...call.query, limit: undefined } })
  return records.map(({ _id }) => _id)
}

/**
 * Resolves to a page, by two commands. They run in parallel, unless they share a session, which allows one
 * command at a time. Resolves to an array when the query asks for no page.
 */
export async function findPage(
  call: AdapterCall,
  find: (call: AdapterCall) => Promise<Document[]> = findAll,
  count: (call: AdapterCall) => Promise<number> = countMatching,
): Promise<Page<Document> | Document[]> {
  const { limit, skip, paged } = call.query
  if (!paged || limit === undefined) return find(call)
  const [data, total] = await findCounted(call, find, count)
  return { total, limit, skip, data }
}

/** Resolves to records and their count, read in parallel unless they share a session. */
export async function findCounted<Count>(
  call: AdapterCall,
  find: (call: AdapterCall) => Promise<Document[]>,
  count: (call: AdapterCall) => Promise<Count>,
): Promise<[Document[], Count]> {
  return call.driver.session === undefined
    ? Promise.all([find(call), count(call)])
    : [await find(call), await count(call)]
}

/** Resolves to the number of records that match, over all pages. */
export async function countMatching(call: AdapterCall): Promise<number> {
  const { collection, settings, query, driver } = call
  const isEstimated =
    settings.useEstimatedDocumentCount &&
    Object.keys(query.filter).length === 0 &&
    // Not available in a transaction, which sees records that the metadata does not count.
    driver.session?.inTransaction() !== true
  return isEstimated
    ? collection.estimatedDocumentCount(driver as EstimatedDocumentCountOptions)
    : collection.countDocuments(query.filter, driver)
}

/**
 * Resolves to the record with an id.
 * @throws {NotFound} no record has this id, or the query excludes it
 */
export async function findById(call: AdapterCall, id: AdapterId): Promise<Document> {
  const fields = chooseFields(call)
  const options = { ...fields.options, ...call.driver } as FindOptions
  const record = await call.collection.findOne(createIdFilter(call, id), options)
  if (record === null) throw createMissingError(id)
  const isWhole = fields.omitted.length === 0 && call.rules.length === 0
  return isWhole ? record : showFound(call, record, fields)
}

/** Returns the error for an id that no matching record has. */
export function createMissingError(id: AdapterId): NotFound {
  return new RecordNotFound(`No record found for id '${id}'`)
}

/** Returns the filter for one record: the query's conditions and the id. */
export function createIdFilter({ settings, query }: AdapterCall, id: AdapterId): Document {
  return createRecordFilter(query.filter, settings.id, toStoredId(id, settings))
}

/** Which fields of its records a call returns, and whether the server or we remove the others. */
interface FieldChoice {
  /** For the options of the driver. */
  readonly options: { readonly projection?: Document }
  /** Fields that the server cannot omit, since it returns what contains them. */
  readonly omitted: readonly string[]
}

/** Returns a record as a call shows it. A projection for the driver overrides the rules. */
function showFound(call: AdapterCall, record: Document, { omitted }: FieldChoice): Document {
  const shown = omitFields(record, omitted)
  return call.driver.projection === undefined ? takeStep(call, 'show', shown) : shown
}

/** Returns which fields the records of a call have. A projection for the driver overrides `$select`. */
export function chooseFields({ settings, query, hidden, driver }: AdapterCall): FieldChoice {
  const { select } = query
  if (driver.projection !== undefined) return { options: {}, omitted: hidden }
  if (select !== undefined) {
    // A projection either includes or excludes fields: it cannot exclude a field below an included one.
    const omitted = hidden.filter((path) => select.some((name) => relate(name, [path]) !== 'apart'))
    return { options: { projection: createProjection(select, settings.id) }, omitted }
  }
  if (hidden.length === 0) return { options: {}, omitted: hidden }
  const excluded = selectOutermost(hidden).map((path) => [path, 0])
  return { options: { projection: Object.fromEntries(excluded) }, omitted: [] }
}
