import type { DeleteResult, Document, UpdateResult } from 'mongodb'
import { InvalidData } from '../../core/errors/coded-errors.ts'
import { Unavailable } from '../../core/errors/index.ts'
import { noteEvent } from '../../core/hooks/method-call.ts'
import type { AdapterCall } from '../adapter-call.ts'
import type { Outcome } from '../driver-error.ts'
import { callDatabase, callWrite, isAnswer, toDatabaseError, withOutcome } from '../driver-error.ts'
import type { DriverOptions } from '../mongodb-params.ts'
import { createWriteOptions } from '../mongodb-params.ts'
import { getIdKey } from '../object-id.ts'
import { findAll, findIds, findOnlyIds } from '../queries/find.ts'
import { createRecordFilter } from '../queries/split-query.ts'
import { createShardConditions } from '../shard-key.ts'
import { isIsolated, runIsolated } from '../transactions/run-transaction.ts'

/** How many records one of our own transactions writes, without a pipeline. */
export const SLICE = 1_000

/** Resolves to all records that matched, after the change, each as it was written. */
export async function changeMatching(call: AdapterCall, update: Document): Promise<Document[]> {
  return writeInSlices(call, findOnlyIds, async (slice, ids) => {
    const filter = await changeAll(slice, ids, update)
    const read = withQuery(withoutHint(slice), { filter, limit: undefined, skip: 0 })
    return keepById(await runAfterWrite(slice, () => findAll(read)), ids, slice)
  })
}

/** Resolves to all records that matched, as they were when they were removed. */
export function deleteMatching(call: AdapterCall): Promise<Document[]> {
  return writeInSlices(call, findWithIds, deleteAll)
}

/** Changes records that were found before. Resolves to the filter for those that were changed. */
export async function changeAll(
  call: AdapterCall,
  ids: readonly unknown[],
  update: Document,
): Promise<Document> {
  const { collection, settings, query } = call
  const comparing = call.driver.collation !== undefined && compares(update, call.driver)
  const { filter, driver } = createTarget(call, ids, comparing)
  if (comparing && isIsolated(call)) await checkReached(call, filter, ids)
  const options = { ...createWriteOptions(driver), upsert: false }
  const change = (): Promise<UpdateResult> => collection.updateMany(filter, update, options)
  const { matchedCount } = await (ids.length === 1 ? change() : runOnMany(call, change))
  const isAll = isIsolated(call) || matchedCount === ids.length
  return isAll
    ? { _id: { $in: ids }, ...createShardConditions({}, query.filter, settings) }
    : filter
}

/** Removes records that were found before. Resolves to those of them that were removed. */
export async function deleteAll(
  call: AdapterCall,
  ids: readonly unknown[],
  records: Document[],
): Promise<Document[]> {
  const { collection, query } = call
  const { filter, driver } = createTarget(call, ids)
  const remove = (): Promise<DeleteResult> =>
    collection.deleteMany(filter, createWriteOptions(driver))
  const { deletedCount } = await (ids.length === 1 ? remove() : runOnMany(call, remove))
  if (isIsolated(call) || deletedCount === ids.length) return records
  // Another call may have been faster for some of them: records that still exist were not removed.
  const remaining = { ...query, filter: { _id: { $in: ids } }, skip: 0 }
  const left = await runAfterWrite(call, () => findIds({ ...withoutHint(call), query: remaining }))
  const kept = new Set(left.map(getIdKey))
  return records.filter(({ _id }) => !kept.has(getIdKey(_id)))
}

/**
 * Writes to all records that match, in one transaction, or one per slice if there are many: a transaction
 * locks its records and has a time limit. The set of records is fixed before.
 * @param write resolves to the result for the found records
 */
async function writeInSlices(
  call: AdapterCall,
  find: (call: AdapterCall) => Promise<Document[]>,
  write: (call: AdapterCall, ids: readonly unknown[], found: Document[]) => Promise<Document[]>,
): Promise<Document[]> {
  const writeFound = async (isolated: AdapterCall, found: Document[]): Promise<Document[]> => {
    const ids = found.map(({ _id }) => _id)
    return ids.length === 0 ? [] : write(isolated, ids, found)
  }
  const writeSlice = async (
    isolated: AdapterCall,
    ids: readonly unknown[],
  ): Promise<Document[]> => {
    const filter = createRecordFilter(call.query.filter, '_id', { $in: ids })
    const slice = withQuery(isolated, { filter, skip: 0, limit: undefined })
    return writeFound(isolated, keepById(await search(slice, find), ids, isolated))
  }
  let size = SLICE
  const few = await runIsolated(call, async (isolated) => {
    size = getSliceSize(isolated)
    const found = await search(isolated, (limited) => find(withQuery(limited, { limit: size + 1 })))
    return found.length > size ? null : writeFound(isolated, found)
  })
  return few ?? runSlices(call, await search(call, findIds), size, writeSlice)
}

/** Writes a list in slices, each in its own transaction. If one fails, earlier slices stay written. */
export async function runSlices<Item>(
  call: AdapterCall,
  items: readonly Item[],
  size: number,
  write: (call: AdapterCall, slice: Item[]) => Promise<Document[]>,
): Promise<Document[]> {
  const written: Document[] = []
  for (let start = 0; start < items.length; start += size) {
    const slice = items.slice(start, start + size)
    try {
      written.push(...(await runIsolated(call, (isolated) => write(isolated, slice))))
    } catch (error) {
      throw start > 0 && !isIsolated(call) ? toPartial(error) : error
    }
  }
  return written
}

/** Operators that do not compare with stored values. */
const COMPARE_NOTHING: ReadonlySet<string> = new Set([
  ...['$set', '$unset', '$inc', '$mul', '$rename', '$bit', '$currentDate', '$setOnInsert'],
])

/**
 * Whether what an update changes depends on the query or on the collation: with a positional `$`, `arrayFilters`, or
 * an operator that compares, such as `$pull`.
 */
function compares(update: Document, { arrayFilters }: DriverOptions): boolean {
  if (arrayFilters !== undefined) return true
  return Object.entries(update).some(
    ([operator, fields]) =>
      !COMPARE_NOTHING.has(operator) ||
      Object.keys(fields as Document).some((path) => path.split('.').includes('$')),
  )
}

/**
 * Checks that a filter finds only the records to change: with a collation, ids of other records may be equal.
 * @throws {BadRequest} it finds more
 */
async function checkReached(
  { collection, driver }: AdapterCall,
  filter: Document,
  ids: readonly unknown[],
): Promise<void> {
  if ((await collection.countDocuments(filter, driver)) === ids.length) return
  throw new InvalidData(
    "With this collation, ids of other records are the same: use the collation { locale: 'simple' } for this patch",
  )
}

/**
 * Returns the target of a command. Outside of a transaction it repeats the conditions: another call may have
 * moved a record out of the caller's reach. In a sharded cluster they may name the shard. In a transaction,
 * the ids are enough, so the collation is dropped, under which other ids could be equal.
 * @param comparing whether the update depends on the conditions and the collation
 */
function createTarget(
  call: AdapterCall,
  ids: readonly unknown[],
  comparing = false,
): { readonly filter: Document; readonly driver: DriverOptions } {
  const { collation, ...driver } = call.driver
  if (collation !== undefined && isIsolated(call) && !comparing) {
    return { filter: { _id: { $in: ids } }, driver }
  }
  return { filter: createRecordFilter(call.query.filter, '_id', { $in: ids }), driver: call.driver }
}

/** Returns the records of a read that have one of its ids: with a collation, the read finds others too. */
export function keepById(
  records: Document[],
  ids: readonly unknown[],
  { driver }: AdapterCall,
): Document[] {
  if (driver.collation === undefined) return records
  const keys = new Set(ids.map(getIdKey))
  return records.filter(({ _id }) => _id === undefined || keys.has(getIdKey(_id)))
}

/** With a collation, a command outside of a transaction also reaches records of other slices. */
function getSliceSize(call: AdapterCall): number {
  const isOneSlice = call.driver.collation !== undefined && !isIsolated(call)
  return isOneSlice ? Number.POSITIVE_INFINITY : SLICE
}

/**
 * Runs a command on many records and resolves to its result. Outside of a transaction, the server may have
 * written some of them before it rejected one, or before the connection broke.
 * @param toOutcome returns the outcome of a command that the server has rejected
 */
export async function runOnMany<R>(
  call: AdapterCall,
  command: () => Promise<R>,
  toOutcome: (thrown: unknown) => Outcome | undefined = () => 'unknown',
): Promise<R> {
  if (isIsolated(call)) return command()
  try {
    return await callWrite(call.collection.db.client, command)
  } catch (thrown) {
    const error = toDatabaseError(thrown)
    const isOpen = error.errors === undefined && isAnswer(error.cause)
    const outcome = isOpen ? toOutcome(error.cause) : undefined
    throw outcome === undefined ? error : withOutcome(error, outcome)
  }
}

/**
 * Runs a function after the write of a call and resolves to its result.
 * @throws {ServiceError} outside of a transaction with `errors.outcome: 'unknown'`: the write has happened
 */
export async function runAfterWrite<R>(call: AdapterCall, run: () => Promise<R>): Promise<R> {
  try {
    return await run()
  } catch (error) {
    throw isIsolated(call) ? error : withOutcome(toDatabaseError(error), 'unknown')
  }
}

/** Returns the error of a call that has written some of its records. */
function toPartial(thrown: unknown): unknown {
  const error = toDatabaseError(thrown)
  return withOutcome(error, error instanceof Unavailable ? 'unknown' : 'partial')
}

/**
 * Resolves to the records to write, found under a time limit: a caller's query may be slow. If it fails,
 * nothing was written.
 */
export function search<R>(call: AdapterCall, find: (call: AdapterCall) => Promise<R>): Promise<R> {
  const { driver, searchLimitMs } = call
  const isLimited = searchLimitMs !== undefined && driver.maxTimeMS === undefined
  const limited = isLimited ? { ...call, driver: { ...driver, maxTimeMS: searchLimitMs } } : call
  // A transaction needs the driver's own errors.
  return isIsolated(call) ? find(limited) : callDatabase(() => find(limited))
}

function withQuery(call: AdapterCall, changes: Partial<AdapterCall['query']>): AdapterCall {
  return { ...call, query: { ...call.query, ...changes } }
}

/**
 * Returns a call that reads records by their ids after a write. A hint is only for the query: if its index is sparse
 * or partial, it may no longer contain the records.
 */
export function withoutHint(call: AdapterCall): AdapterCall {
  const { hint: _hint, ...driver } = call.driver
  return { ...call, driver }
}

/** Always selects the ids, which identify records, even if the caller does not want them. */
function findWithIds(call: AdapterCall): Promise<Document[]> {
  const { driver } = call
  if (driver.projection === undefined) return findAll(call)
  return findAll({ ...call, driver: { ...driver, projection: { ...driver.projection, _id: 1 } } })
}

/** What `patch` and `remove` of many resolve to with `params.docdb.returning: false`. */
export interface WriteCount {
  /** Whether the server replied: `false` with the write concern `{ w: 0 }`. */
  readonly acknowledged: boolean
  /** How many records the query matched; 0 without a reply of the server. */
  readonly matched: number
  /** How many of them were changed or removed. */
  readonly modified: number
}

/** Options of a write to many records that returns none. */
interface UnreadOptions {
  /** The call returns no records. */
  readonly returning: false
}

/** Params of a write to many that resolves to {@link WriteCount}. */
export type UnreadParams =
  | {
      /** Options for the driver. */
      readonly docdb: UnreadOptions
    }
  | {
      /** Another name for `docdb`. */
      readonly mongodb: UnreadOptions
    }

/** Changes all records that match, by one command. Emits a single event, `changed`, without records. */
export async function changeUnread(call: AdapterCall, update: Document): Promise<WriteCount> {
  const { collection, query, driver } = call
  const { acknowledged, matchedCount, modifiedCount } = await runOnMany(call, () =>
    collection.updateMany(query.filter, update, createWriteOptions(driver)),
  )
  return createWriteCount(acknowledged, matchedCount, modifiedCount)
}

/** Removes all records that match, by one command. Emits a single event, `changed`, without records. */
export async function deleteUnread(call: AdapterCall): Promise<WriteCount> {
  const { collection, query, driver } = call
  const { acknowledged, deletedCount } = await runOnMany(call, () =>
    collection.deleteMany(query.filter, createWriteOptions(driver)),
  )
  return createWriteCount(acknowledged, deletedCount, deletedCount)
}

/**
 * The driver omits the numbers if the server did not reply. Listeners do not mistake the object for a record.
 */
function createWriteCount(acknowledged: boolean, matched = 0, modified = 0): WriteCount {
  const count = { acknowledged, matched, modified }
  noteEvent(count, 'changed')
  return count
}
