import type { Collection, Document, FindCursor } from 'mongodb'
import { BSON } from 'mongodb'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import type { FollowableService, RecordView } from '../../core/services/record-view.ts'
import { isPromise } from '../../core/value-kind.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { readFacts } from '../adapter-call.ts'
import { callAdapter } from '../call-adapter.ts'
import { hasOwnFind, sanitizeParams } from '../call-checks.ts'
import type { CalledService, CallFeature, FindMethods } from '../call-feature.ts'
import { openModel } from '../connection/model.ts'
import { relate } from '../field-path.ts'
import { sizeOf } from '../matching/decode.ts'
import { getField } from '../matching/field-paths.ts'
import type { DriverOptions, MongoDBParams, Operation } from '../mongodb-params.ts'
import { toStoredId } from '../object-id.ts'
import { checkHiddenConditions } from '../queries/hidden-field-check.ts'
import { compileJudge, refuseStream, toCompared } from '../queries/judge.ts'
import { omitFields, showFields } from '../queries/select.ts'
import { measureFilter } from './filter-cost.ts'

const REMOVALS: ReadonlySet<Operation> = new Set(['remove', 'remove of many'])

/** Live queries. While a service is followed, it keeps removed records as they were stored. */
export const FOLLOWING: CallFeature = {
  askedBy: { member: 'isFollowed' },
  createRule: ({ operation }) => (REMOVALS.has(operation) ? { notesRemoved: true } : undefined),
  createMembers: createFollowedMembers,
}

/** The members of a service that live queries use. */
export interface FollowedMembers extends Omit<FollowableService, 'id'> {
  /** Whether `watchCollection()` sees the changes of the collection. */
  isWatched: boolean
  hideFields(record: object): object
}

function createFollowedMembers(
  own: FindMethods,
): FollowedMembers & ThisType<CalledService & FindMethods> {
  return {
    isFollowed: false,
    isWatched: false,
    async followRecords(params) {
      if (hasOwnFind(this, own)) return null
      const checked = sanitizeParams(params, this)
      const { hidden } = this.options
      return callAdapter('read', this, checked, (call) => createRecordView(call, checked, hidden))
    },
    hideFields(record) {
      const { hidden } = this.options
      const isShown = (name: string): boolean => relate(name, hidden) === 'apart'
      return Object.keys(record).every(isShown) ? record : omitFields(record, hidden)
    },
    // The namespace, `'database.collection'`.
    locateRecords(params) {
      const collection = openModel(readFacts(this, params).settings.Model)
      return isPromise(collection)
        ? collection.then(({ namespace }) => namespace)
        : collection.namespace
    },
  }
}

/** Driver options that change neither the found records nor their contents. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['comment', 'maxTimeMS', 'readPreference', 'readConcern', 'hint', 'batchSize', 'signal'],
  ...['allowDiskUse', 'allowPartialResults', 'noCursorTimeout', 'singleBatch'],
])

/**
 * Returns how a call sees the records of its collection.
 * @param params the params of the call
 * @param hiddenOfAll the fields that the service hides from all external callers
 * @throws {BadRequest} it has a pipeline, an option or an operator that only the database can evaluate
 */
async function createRecordView(
  call: AdapterCall,
  params: MongoDBParams,
  hiddenOfAll: readonly string[],
): Promise<RecordView> {
  const { collection, settings, query, hidden, driver } = call
  checkFollowed(call)
  if (await hasCollation(collection)) refuseStream('the collation of the collection')
  const { filter, select } = query
  const matches = compileJudge(filter)
  const { conditions, weights } = measureFilter(filter)
  const shown = { select, hidden, id: settings.id }
  const place = collection.namespace
  const hidesFields = hiddenOfAll.length > 0
  const { adapter, docdb, mongodb } = params
  // The view may be kept for days: it must not hold the options, which have the signal of the call.
  const { comment, maxTimeMS } = driver
  // A call with its own options may find other records.
  const isUsual = [adapter, docdb, mongodb].every((options) => options === undefined)
  return {
    key: toKey({ place, filter, select, hidden }),
    fieldsKey: toKey({ select, hidden }),
    findKey: isUsual ? toKey({ place, query, hidden, maxTimeMS }) : null,
    place,
    isPage: query.paged && query.limit !== undefined,
    asksHidden: hidesFields && readsHiddenFields(filter, hiddenOfAll),
    hidesFields,
    conditions,
    costOf(stored) {
      let cost = 0
      for (const [field, weight] of weights) cost += weight * sizeOfField(stored, field)
      return cost
    },
    matches: (stored) => conditions === 0 || matches(comparedOf(stored).document),
    pick: (stored) => showFields(stored, shown),
    async read(ids, maxBytes) {
      const wanted = ids.map((id) => toStoredId(id as string, settings))
      // Ignores the service's read preference: only the primary is sure to have what was just written.
      const options = { readPreference: 'primary', readConcern: { level: 'local' } } as const
      const found = collection.find(
        { [settings.id]: { $in: wanted } },
        { ...options, ...(comment === undefined ? {} : { comment }) },
      )
      return maxBytes === undefined ? found.toArray() : readAtMost(found, maxBytes)
    },
  }
}

/** Whether conditions read hidden fields, or have an operator that can read any field. */
function readsHiddenFields(conditions: unknown, hidden: readonly string[]): boolean {
  try {
    checkHiddenConditions(conditions, '', hidden)
    return false
  } catch {
    return true
  }
}

/** Resolves to the found records; `null` if they have more than `maxBytes`, without reading the rest. */
async function readAtMost(
  found: FindCursor<Document>,
  maxBytes: number,
): Promise<readonly Document[] | null> {
  const records: Document[] = []
  let bytes = 0
  while (await found.hasNext()) {
    for (const record of found.readBufferedDocuments()) {
      records.push(record)
      bytes += BSON.calculateObjectSize(record)
    }
    if (bytes <= maxBytes) continue
    await found.close()
    return null
  }
  return records
}

/** @throws {BadRequest} the found records, or their contents, depend on more than filter and fields */
function checkFollowed({ pipeline, driver }: AdapterCall): void {
  if (pipeline !== null) refuseStream('params.pipeline')
  for (const [name, value] of Object.entries(driver as DriverOptions)) {
    if (value !== undefined && !HARMLESS.has(name)) refuseStream(`the option ${name}`)
  }
}

/** Caches on a collection whether it has its own collation. */
const HAS_COLLATION: unique symbol = Symbol('remex.hasCollation')

async function hasCollation(
  collection: Collection & { [HAS_COLLATION]?: boolean },
): Promise<boolean> {
  if (collection[HAS_COLLATION] !== undefined) return collection[HAS_COLLATION]
  const named = { name: collection.collectionName }
  const [info] = await collection.db.listCollections(named, { nameOnly: false }).toArray()
  const has = info?.options?.['collation'] !== undefined
  // A collection that does not exist yet may still be created with a collation.
  if (info !== undefined) collection[HAS_COLLATION] = has
  return has
}

function toKey(shown: Document): string {
  return Buffer.from(BSON.serialize(shown)).toString('latin1')
}

/** A record prepared for comparison with thousands of queries. */
interface Compared {
  readonly document: Document
  /** About how many bytes the values of fields have, by the names of the fields. */
  readonly sizes: Map<string, number>
}

/** The key under which a stored record keeps its {@link Compared}. */
const COMPARED: unique symbol = Symbol('remex.compared')

function comparedOf(stored: object & { readonly [COMPARED]?: Compared }): Compared {
  const known = stored[COMPARED]
  if (known !== undefined) return known
  const value = { document: toCompared(stored), sizes: new Map() }
  if (Object.isExtensible(stored)) Object.defineProperty(stored, COMPARED, { value })
  return value
}

function sizeOfField(stored: object, field: string): number {
  const { document, sizes } = comparedOf(stored)
  return getOrAdd(sizes, field, () => sizeOf(getField(document, field)))
}
