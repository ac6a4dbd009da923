import type { AggregateOptions, AggregationCursor, Document } from 'mongodb'
import { copyEventNote } from '../core/hooks/method-call.ts'
import type { Page } from '../core/params.ts'
import type { AdapterCall } from './adapter-call.ts'
import { applyRules, createMark, takeData, takeStep } from './adapter-call.ts'
import { callDatabase } from './driver-error.ts'
import type { AdapterId } from './object-id.ts'
import { getIdKey } from './object-id.ts'
import {
  absorbMatches,
  createAnswerStages,
  createCountStages,
  createStages,
  findSelecting,
} from './pipelines/framework-stages.ts'
import {
  ALL_IN_ONE_BATCH,
  countMatching,
  createIdFilter,
  createMissingError,
  findById,
  findIds,
  findPage,
} from './queries/find.ts'
import {
  checkShardKeyKept,
  checkShardValues,
  checkTarget,
  createShardConditions,
  withShardValues,
} from './shard-key.ts'
import { runIsolated } from './transactions/run-transaction.ts'
import { insertRecords } from './writes/insert-many.ts'
import { changeById, deleteById, insertRecord, removeNoting, replaceById } from './writes/write.ts'
import type { WriteData } from './writes/write-data.ts'
import { createUpdate, hasOperators } from './writes/write-data.ts'
import type { WriteCount } from './writes/write-many.ts'
import {
  changeAll,
  changeMatching,
  changeUnread,
  deleteAll,
  deleteMatching,
  deleteUnread,
  keepById,
  runAfterWrite,
  search,
  withoutHint,
} from './writes/write-many.ts'

/** Resolves to a page, or to an array when the query asks for none. */
export function findRecords(call: AdapterCall): Promise<Page<Document> | Document[]> {
  for (const rule of call.rules) if (rule.find !== undefined) return rule.find(call)
  if (call.pipeline === null) return findPage(call)
  const find = async (): Promise<Document[]> => (call.query.limit === 0 ? [] : aggregateAll(call))
  return findPage(call, find, countRecords)
}

/** Resolves to the number of records that match, or of documents that the pipeline yields, on all pages. */
export async function countRecords(call: AdapterCall): Promise<number> {
  if (call.pipeline === null) return countMatching(call)
  const [counted] = await aggregateAll(call, createCountStages(call))
  return counted?.['total'] ?? 0
}

/**
 * Resolves to the record with an id, or the first document that the pipeline makes of it.
 * @throws {NotFound} no record has this id, or the query or the pipeline excludes it
 */
export function getRecord(call: AdapterCall, id: AdapterId): Promise<Document> {
  if (call.settings.shardKey.length > 0) checkTarget(call)
  return call.pipeline === null ? findById(call, id) : aggregateById(call, id)
}

/** Resolves to the new record; with a pipeline, to its result for the record, by a second command. */
export async function createRecord(call: AdapterCall, given: WriteData): Promise<Document> {
  const { data } = applyRules(call, 'create', given)
  if (call.settings.shardKey.length > 0) checkShardValues(data, call.settings)
  if (call.pipeline === null) return insertRecord(call, data)
  return readAnswer(call, await insertRecord(createInsertCall(call), data))
}

/** Like {@link createRecord}, for many records, in the order of the data. */
export async function createRecords(
  call: AdapterCall,
  given: readonly WriteData[],
): Promise<Document[]> {
  const list = given.map((one) => applyRules(call, 'create', one).data)
  for (const data of list) checkShardValues(data, call.settings)
  if (call.pipeline === null) return insertRecords(call, list)
  const { collation } = call.driver
  return insertRecords(createInsertCall(call), list, async (isolated, created) => {
    const driver = { ...isolated.driver, ...(collation && { collation }) }
    const reading = { ...call, driver }
    const ids = created.map(({ _id }) => _id)
    const places = new Map(ids.map((id, place) => [getIdKey(id), place]))
    const placeOf = ({ _id }: Document): number => places.get(getIdKey(_id)) ?? places.size
    const stages = createAnswerStages(reading, { _id: { $in: ids } })
    const records = await aggregateAll(reading, stages)
    return records.sort((one, other) => placeOf(one) - placeOf(other))
  })
}

/**
 * Resolves to the replaced record, or to the changed one if the data has update operators.
 * @throws {NotFound} no record has this id, or the query or the pipeline excludes it
 */
export function updateRecord(
  call: AdapterCall,
  id: AdapterId,
  given: WriteData,
): Promise<Document> {
  if (hasOperators(given)) return patchRecord(call, id, given)
  const ruled = applyRules(call, 'update', given, id)
  const data = takeData(call, ruled.data)
  const targeted = call.settings.shardKey.length > 0 ? withShardValues(call, data) : call
  return changeRecord(targeted, id, (change) => replaceById(change, id, data, ruled.kept))
}

/**
 * Resolves to the record after the change.
 * @throws {PreconditionFailed} the record has another version than is expected
 * @throws {NotFound} no record has this id, or the query or the pipeline excludes it
 */
export function patchRecord(call: AdapterCall, id: AdapterId, given: WriteData): Promise<Document> {
  return changeOne(call, id, applyRules(call, 'patch', given, id).data)
}

function changeOne(call: AdapterCall, id: AdapterId, given: WriteData): Promise<Document> {
  const data = call.rules.length === 0 ? given : takeData(call, given)
  if (call.settings.shardKey.length > 0) {
    checkTarget(call)
    checkShardKeyKept(call, data)
  }
  if (call.pipeline === null) return changeById(call, id, data)
  return changeRecord(call, id, (change) => changeById(change, id, data))
}

/**
 * Resolves to the record as it was; with a pipeline, to its result for the record, by a command before the
 * removal. A record that is marked instead of removed is changed.
 * @throws {NotFound} no record has this id, or the query or the pipeline excludes it
 */
export async function removeRecord(call: AdapterCall, id: AdapterId): Promise<Document> {
  const mark = createMark(call.rules)
  if (mark !== null) return removeNoting(call, (noted) => changeOne(noted, id, mark), mark)
  checkTarget(call)
  if (call.pipeline === null) return removeNoting(call, (noted) => deleteById(noted, id))
  const record = await callDatabase(() => aggregateById(call, id))
  await deleteById(selectIdsOnly(absorbMatches(call)), id)
  return record
}

/**
 * Resolves to all records that matched, after the change, or to their number. With a pipeline, resolves to
 * its result for them: three commands in one transaction, however many records there are.
 */
export async function patchRecords(
  call: AdapterCall,
  given: WriteData,
): Promise<Document[] | WriteCount> {
  return changeMany(call, applyRules(call, 'patch', given, null).data)
}

async function changeMany(call: AdapterCall, given: WriteData): Promise<Document[] | WriteCount> {
  const data = takeData(call, given, false)
  checkShardKeyKept(call, data)
  const update = takeStep(call, 'toUpdate', createUpdate(data, call.settings))
  if (call.driver.returning === false) return changeUnread(call, update)
  if (call.pipeline === null) return changeMatching(call, update)
  return writeThroughPipeline(call, async (absorbed, ids) => {
    const changed = await changeAll(absorbed, ids, update)
    const stages = createAnswerStages(absorbed, changed)
    const answer = await runAfterWrite(absorbed, () => aggregateAll(withoutHint(absorbed), stages))
    return keepById(answer, ids, absorbed)
  })
}

/** Like {@link patchRecords}, for removal: resolves to the records as they were when they were removed. */
export async function removeRecords(call: AdapterCall): Promise<Document[] | WriteCount> {
  const mark = createMark(call.rules)
  const isUnread = call.driver.returning === false
  if (isUnread) return mark === null ? deleteUnread(call) : changeMany(call, mark)
  if (mark !== null) return removeNoting(call, (noted) => changeMany(noted, mark), mark)
  if (call.pipeline === null) return removeNoting(call, deleteMatching)
  return writeThroughPipeline(call, async (absorbed, ids) => {
    const found = createAnswerStages(absorbed, { _id: { $in: ids } })
    const records = await search(absorbed, (limited) => aggregateAll(limited, found))
    return deleteAll(absorbed, ids, keepById(records, ids, absorbed))
  })
}

/** Returns a cursor over the results of stages for the collection of a call. */
export function openAggregation(
  { collection, driver }: AdapterCall,
  stages: Document[],
): AggregationCursor {
  return collection.aggregate(stages, driver as AggregateOptions)
}

/** Resolves to all results of stages, by one command unless they exceed 16 MiB. */
async function aggregateAll(
  call: AdapterCall,
  stages: Document[] = createStages(call),
): Promise<Document[]> {
  const { driver } = call
  const { batchSize = ALL_IN_ONE_BATCH } = driver
  return openAggregation({ ...call, driver: { ...driver, batchSize } }, stages).toArray()
}

/** @param further stages to run after those of the call */
async function aggregateById(
  call: AdapterCall,
  id: AdapterId,
  ...further: Document[]
): Promise<Document> {
  const filter = createIdFilter(call, id)
  const query = { ...call.query, filter, sort: undefined, skip: 0, limit: 1 }
  const stages = [...createStages({ ...call, query }), { $limit: 1 }, ...further]
  const [record] = await aggregateAll(call, stages)
  if (record === undefined) throw createMissingError(id)
  return record
}

/**
 * Changes a record by one command. With a pipeline, a second command makes the result; if stages could drop
 * the record, another command checks that first.
 */
async function changeRecord(
  call: AdapterCall,
  id: AdapterId,
  change: (call: AdapterCall) => Promise<Document>,
): Promise<Document> {
  if (call.pipeline === null) return change(call)
  const absorbed = absorbMatches(call)
  const isSelecting = findSelecting(absorbed) !== undefined
  if (isSelecting) await callDatabase(() => aggregateById(call, id, { $project: { _id: 1 } }))
  const written = await change(selectIdsOnly(absorbed))
  return copyEventNote(written, await readAnswer(absorbed, written))
}

/** Returns a call that reads only the ids of its records, as the result is not needed. */
function selectIdsOnly(call: AdapterCall): AdapterCall {
  const { settings, query, driver } = call
  const projection = { _id: 1, [settings.id]: 1 }
  return {
    ...call,
    query: { ...query, select: undefined },
    hidden: [],
    driver: { ...driver, projection },
  }
}

/**
 * The record was written. If the pipeline yields nothing for the changed record, returns only its ids, so
 * that nothing leaks that the pipeline would have dropped.
 */
async function readAnswer(call: AdapterCall, written: Document): Promise<Document> {
  const { settings, query } = call
  const { id } = settings
  const { _id } = written
  const filter = { _id, ...createShardConditions(written, query.filter, settings) }
  const stages = createAnswerStages(call, filter)
  const [answer] = await runAfterWrite(call, () => aggregateAll(withoutHint(call), stages))
  return answer ?? { _id, [id]: written[id] }
}

/** The result is read back from the database, not derived from the data. */
function createInsertCall(call: AdapterCall): AdapterCall {
  const { collation, ...driver } = call.driver
  return { ...call, hidden: [], driver, query: { ...call.query, select: undefined } }
}

/** @param write gets the call with its pipeline absorbed, and the ids of the records that matched */
async function writeThroughPipeline(
  call: AdapterCall,
  write: (absorbed: AdapterCall, ids: readonly unknown[]) => Promise<Document[]>,
): Promise<Document[]> {
  return runIsolated(call, async (isolated) => {
    const ids = await search(isolated, findPipelineIds)
    return ids.length === 0 ? [] : write(absorbMatches(isolated), ids)
  })
}

/** Resolves to the `_id` of all records of the collection that a pipeline keeps. */
async function findPipelineIds(call: AdapterCall): Promise<unknown[]> {
  const absorbed = absorbMatches(call)
  if (findSelecting(absorbed) === undefined) return findIds(absorbed)
  const query = { ...call.query, limit: undefined }
  const stages = [...createStages({ ...call, query }), { $group: { _id: '$_id' } }]
  return (await aggregateAll(call, stages)).map(({ _id }) => _id)
}
