import type { AggregateOptions, AggregationCursor, Document } from 'mongodb'
import { NotFound } from '../../core/errors/index.ts'
import { copyEventNote } from '../../core/hooks/method-call.ts'
import type { Page } from '../../core/params.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { callDatabase } from '../driver-error.ts'
import type { AdapterId } from '../object-id.ts'
import { getIdKey } from '../object-id.ts'
import { ALL_IN_ONE_BATCH, createIdFilter, findIds, findPage } from '../queries/find.ts'
import { createShardConditions } from '../shard-key.ts'
import { runIsolated } from '../transactions/run-transaction.ts'
import { createRecord, createRecords, removeRecord } from '../writes/write.ts'
import type { WriteData } from '../writes/write-data.ts'
import { createUpdate } from '../writes/write-data.ts'
import { changeAll, keepById, removeAll, search } from '../writes/write-many.ts'
import {
  absorbMatches,
  createAnswerStages,
  createCountStages,
  createStages,
  findSelecting,
} from './framework-stages.ts'
import { NO_STAGES } from './read-pipeline.ts'

/** Returns a cursor over what stages make of the collection of a call. */
export function openAggregation(
  { collection, driver }: AdapterCall,
  stages: Document[],
): AggregationCursor {
  return collection.aggregate(stages, driver as AggregateOptions)
}

/** Resolves to all that stages yield, by one command unless it is more than 16 MiB. */
async function aggregateAll(
  call: AdapterCall,
  stages: Document[] = createStages(call),
): Promise<Document[]> {
  const { driver } = call
  const { batchSize = ALL_IN_ONE_BATCH } = driver
  return openAggregation({ ...call, driver: { ...driver, batchSize } }, stages).toArray()
}

/** Resolves to a page, or to an array when the query asks for none. */
export async function findPipelinePage(call: AdapterCall): Promise<Page<Document> | Document[]> {
  const find = async (): Promise<Document[]> => (call.query.limit === 0 ? [] : aggregateAll(call))
  return findPage(call, find, countPipeline)
}

/** Resolves to how many documents the pipeline of a call yields, over all pages. */
export async function countPipeline(call: AdapterCall): Promise<number> {
  const [counted] = await aggregateAll(call, createCountStages(call))
  return counted?.['total'] ?? 0
}

/**
 * Resolves to what the pipeline makes of the record with an id, the first if there are several.
 * @param further stages behind those of the call
 * @throws {NotFound} none has this id, or the query or the pipeline excludes it
 */
export async function getPipelineRecord(
  call: AdapterCall,
  id: AdapterId,
  ...further: Document[]
): Promise<Document> {
  const query = {
    ...call.query,
    filter: createIdFilter(call, id),
    sort: undefined,
    skip: 0,
    limit: 1,
  }
  const stages = [...createStages({ ...call, query }), { $limit: 1 }, ...further]
  const [record] = await aggregateAll(call, stages)
  if (record === undefined) throw new NotFound(`No record found for id '${id}'`)
  return record
}

/** Resolves to what the pipeline makes of the new record: two commands. */
export async function createPipelineRecord(call: AdapterCall, data: WriteData): Promise<Document> {
  const created = await createRecord(createInsertCall(call), data)
  return readAnswer(call, created)
}

/** Resolves to what the pipeline makes of the new records, in the order of the data: two commands. */
export async function createPipelineRecords(
  call: AdapterCall,
  list: readonly WriteData[],
): Promise<Document[]> {
  const created = await createRecords(createInsertCall(call), list)
  if (created.length === 0) return []
  const ids = created.map(({ _id }) => _id)
  const places = new Map(ids.map((id, place) => [getIdKey(id), place]))
  const placeOf = ({ _id }: Document): number => places.get(getIdKey(_id)) ?? places.size
  const records = await aggregateAll(call, createAnswerStages(call, { _id: { $in: ids } }))
  return records.sort((one, other) => placeOf(one) - placeOf(other))
}

/**
 * Resolves to what the pipeline makes of the record as it was: two commands.
 * @throws {NotFound} no record has this id, or the query or the pipeline excludes it
 */
export async function removePipelineRecord(call: AdapterCall, id: AdapterId): Promise<Document> {
  const record = await callDatabase(() => getPipelineRecord(call, id))
  await removeRecord(selectIdsOnly(absorbMatches(call)), id)
  return record
}

/** Returns a call that knows of its records by their ids, for what nobody reads. */
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
 * Resolves to what the pipeline makes of a record after a change by one command: two commands. Where stages
 * could leave the record out, a third one comes first and tells whether they do.
 * @throws {NotFound} no record has this id, or the query or the pipeline excludes it
 */
export async function changePipelineRecord(
  call: AdapterCall,
  id: AdapterId,
  change: (call: AdapterCall) => Promise<Document>,
): Promise<Document> {
  const absorbed = absorbMatches(call)
  const isSelecting = findSelecting(absorbed.pipeline ?? NO_STAGES) !== undefined
  if (isSelecting) await callDatabase(() => getPipelineRecord(call, id, { $project: { _id: 1 } }))
  const written = await change(selectIdsOnly(absorbed))
  return copyEventNote(written, await readAnswer(absorbed, written))
}

/**
 * The record was written: where the pipeline makes nothing of what it has become, its ids tell so,
 * and nothing else that the pipeline was to leave out.
 */
async function readAnswer(call: AdapterCall, written: Document): Promise<Document> {
  const { settings, query } = call
  const { id } = settings
  const { _id } = written
  const filter = { _id, ...createShardConditions(written, query.filter, settings) }
  const [answer] = await aggregateAll(call, createAnswerStages(call, filter))
  return answer ?? { _id, [id]: written[id] }
}

/** The answer is read back: nothing of the new record is made up from its data. */
function createInsertCall(call: AdapterCall): AdapterCall {
  const { collation, ...driver } = call.driver
  return { ...call, hidden: [], driver, query: { ...call.query, select: undefined } }
}

/**
 * Resolves to what the pipeline makes of all records that matched, after the change: three commands in
 * one transaction, however many records they are.
 */
export async function patchPipelineRecords(
  call: AdapterCall,
  data: WriteData,
): Promise<Document[]> {
  const update = createUpdate(data, call.settings.id)
  return writePipelineRecords(call, async (absorbed, ids) => {
    const changed = await changeAll(absorbed, ids, update)
    const answer = await aggregateAll(absorbed, createAnswerStages(absorbed, changed))
    return keepById(answer, ids, absorbed)
  })
}

/**
 * Resolves to what the pipeline makes of all records that matched, as they were: three commands in
 * one transaction, however many records they are.
 */
export async function removePipelineRecords(call: AdapterCall): Promise<Document[]> {
  return writePipelineRecords(call, async (absorbed, ids) => {
    const found = createAnswerStages(absorbed, { _id: { $in: ids } })
    const records = await search(absorbed, (limited) => aggregateAll(limited, found))
    return removeAll(absorbed, ids, keepById(records, ids, absorbed))
  })
}

/** @param write takes the call with its pipeline absorbed, and the ids of the records that matched */
async function writePipelineRecords(
  call: AdapterCall,
  write: (absorbed: AdapterCall, ids: readonly unknown[]) => Promise<Document[]>,
): Promise<Document[]> {
  return runIsolated(call, async (isolated) => {
    const ids = await search(isolated, findPipelineIds)
    return ids.length === 0 ? [] : write(absorbMatches(isolated), ids)
  })
}

/** Resolves to the `_id` of all records of the collection that a pipeline does not leave out. */
async function findPipelineIds(call: AdapterCall): Promise<unknown[]> {
  const absorbed = absorbMatches(call)
  if (findSelecting(absorbed.pipeline ?? NO_STAGES) === undefined) return findIds(absorbed)
  const query = { ...call.query, limit: undefined }
  const stages = [...createStages({ ...call, query }), { $group: { _id: '$_id' } }]
  return (await aggregateAll(call, stages)).map(({ _id }) => _id)
}
