import type { Document } from 'mongodb'

import { Unavailable } from '../../core/errors/index.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { callDatabase } from '../driver-error.ts'
import { toWriteOptions } from '../driver-options.ts'
import { toIdKey } from '../object-id.ts'
import { findAll, findIds } from '../queries/find.ts'
import { toRecordFilter } from '../queries/split-query.ts'
import { toShardConditions } from '../shard-key.ts'
import { isIsolated, runIsolated } from '../transactions/isolated-call.ts'
import { toUnknown } from '../write-outcome.ts'
import { toUpdateDocument } from './update-document.ts'
import type { WriteData } from './write-data.ts'

/** How many records one transaction changes. */
const SLICE = 1_000

/** How records are found, and what is done to them then. */
interface ManyWrite {
  find(call: AdapterCall): Promise<Document[]>
  /** Resolves to the answer for records that were found. */
  write(call: AdapterCall, found: Document[]): Promise<Document[]>
}

/** Resolves to all records that matched, after the change, each as it was written. */
export async function patchRecords(call: AdapterCall, data: WriteData): Promise<Document[]> {
  const update = toUpdateDocument(data, call.settings.id)
  return writeInSlices(call, {
    find: findOnlyIds,
    async write(slice, found) {
      const filter = await changeAll(slice, toIds(found), update)
      return findAll({ ...slice, query: { ...slice.query, filter, limit: undefined, skip: 0 } })
    },
  })
}

/** Resolves to all records that matched, as they were when they were removed. */
export async function removeRecords(call: AdapterCall): Promise<Document[]> {
  return writeInSlices(call, {
    find: findWithIds,
    write: (slice, found) => removeAll(slice, toIds(found), found),
  })
}

/** Changes records that were found before. Resolves to the filter for those that were changed. */
export async function changeAll(
  call: AdapterCall,
  ids: readonly unknown[],
  update: Document,
): Promise<Document> {
  const { collection, settings, query, driver } = call
  // The conditions again: outside of a transaction another call may have moved a record out of the
  // caller's reach. In a sharded cluster they may tell the shard.
  const filter = toMatching(ids, query.filter)
  const options = { ...toWriteOptions(driver), upsert: false }
  const { matchedCount } = await collection.updateMany(filter, update, options)
  const isAll = isIsolated(call) || matchedCount === ids.length
  return isAll ? { _id: { $in: ids }, ...toShardConditions({}, query.filter, settings) } : filter
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
  if (isIsolated(call) || deletedCount === ids.length) return records
  // Another call was quicker with some of them: what is still there was not removed.
  const remaining = { ...query, filter: { _id: { $in: ids } }, skip: 0 }
  const kept = new Set((await findIds({ ...call, query: remaining })).map(toIdKey))
  return records.filter(({ _id }) => !kept.has(toIdKey(_id)))
}

/**
 * Writes to all records that match: in one transaction, and in one for each slice when they are many,
 * as a transaction locks what it writes and has its time. Which records they are is fixed before then.
 */
async function writeInSlices(call: AdapterCall, { find, write }: ManyWrite): Promise<Document[]> {
  const few = await runIsolated(call, async (isolated) => {
    const found = await search(isolated, (limited) =>
      find(withQuery(limited, { limit: SLICE + 1 })),
    )
    if (found.length > SLICE) return null
    return found.length === 0 ? [] : write(isolated, found)
  })
  if (few !== null) return few
  const ids = await search(call, findIds)
  const written: Document[] = []
  for (let start = 0; start < ids.length; start += SLICE) {
    const slice = ids.slice(start, start + SLICE)
    try {
      written.push(...(await writeSlice(call, slice, { find, write })))
    } catch (error) {
      // Nothing of this slice is written, but those before it are.
      throw start > 0 && error instanceof Unavailable ? toUnknown(error) : error
    }
  }
  return written
}

async function writeSlice(
  call: AdapterCall,
  ids: readonly unknown[],
  { find, write }: ManyWrite,
): Promise<Document[]> {
  const filter = toMatching(ids, call.query.filter)
  return runIsolated(call, async (isolated) => {
    const slice = withQuery(isolated, { filter, skip: 0, limit: undefined })
    const found = await search(slice, find)
    return found.length === 0 ? [] : write(isolated, found)
  })
}

/**
 * Resolves to what a read finds that is to be written: a caller's query may take long. Nothing is unknown
 * where it fails.
 */
export function search<R>(call: AdapterCall, find: (call: AdapterCall) => Promise<R>): Promise<R> {
  const { driver, searchLimitMs } = call
  const isLimited = searchLimitMs !== undefined && driver.maxTimeMS === undefined
  const limited = isLimited ? { ...call, driver: { ...driver, maxTimeMS: searchLimitMs } } : call
  // A transaction goes by what the driver itself throws.
  return isIsolated(call) ? find(limited) : callDatabase(() => find(limited))
}

function withQuery(call: AdapterCall, changes: Partial<AdapterCall['query']>): AdapterCall {
  return { ...call, query: { ...call.query, ...changes } }
}

function findOnlyIds(call: AdapterCall): Promise<Document[]> {
  return findAll({ ...call, hidden: [], driver: { ...call.driver, projection: { _id: 1 } } })
}

/** Records are told apart by their ids, also where the caller wants none. */
function findWithIds(call: AdapterCall): Promise<Document[]> {
  const { driver } = call
  if (driver.projection === undefined) return findAll(call)
  return findAll({ ...call, driver: { ...driver, projection: { ...driver.projection, _id: 1 } } })
}

function toIds(records: readonly Document[]): unknown[] {
  return records.map(({ _id }) => _id)
}

function toMatching(ids: readonly unknown[], filter: Document): Document {
  return toRecordFilter(filter, '_id', { $in: ids })
}
