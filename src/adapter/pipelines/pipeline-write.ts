import type { Document } from 'mongodb'
import { NotFound } from '../../core/errors/index.ts'
import { copyEventNote } from '../../core/hooks/method-call.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { callDatabase } from '../driver-error.ts'
import type { AdapterId } from '../object-id.ts'
import { toIdKey } from '../object-id.ts'
import { findIds, toIdFilter } from '../queries/find.ts'
import { toShardConditions } from '../shard-key.ts'
import { runIsolated } from '../transactions/isolated-call.ts'
import { toUpdateDocument } from '../writes/update-document.ts'
import { createRecord, createRecords, removeRecord } from '../writes/write.ts'
import type { WriteData } from '../writes/write-data.ts'
import { changeAll, keepById, removeAll, search } from '../writes/write-many.ts'
import { absorbMatches, findSelecting, toAnswerStages, toStages } from './framework-stages.ts'
import { aggregateAll, getPipelineRecord } from './pipeline-find.ts'
import { NO_STAGES } from './read-pipeline.ts'

/** Resolves to what the pipeline makes of the new record: two commands. */
export async function createPipelineRecord(call: AdapterCall, data: WriteData): Promise<Document> {
  const created = await createRecord(toInsertCall(call), data)
  return readAnswer(call, created)
}

/** Resolves to what the pipeline makes of the new records, in the order of the data: two commands. */
export async function createPipelineRecords(
  call: AdapterCall,
  list: readonly WriteData[],
): Promise<Document[]> {
  const created = await createRecords(toInsertCall(call), list)
  if (created.length === 0) return []
  const ids = created.map(({ _id }) => _id)
  const places = new Map(ids.map((id, place) => [toIdKey(id), place]))
  const placeOf = ({ _id }: Document): number => places.get(toIdKey(_id)) ?? places.size
  const records = await aggregateAll(call, toAnswerStages(call, { _id: { $in: ids } }))
  return records.sort((one, other) => placeOf(one) - placeOf(other))
}

/**
 * Resolves to what the pipeline makes of the record as it was: two commands.
 * @throws {NotFound} no record has this id, or the query or the pipeline excludes it
 */
export async function removePipelineRecord(call: AdapterCall, id: AdapterId): Promise<Document> {
  const record = await callDatabase(() => getPipelineRecord(call, id))
  await removeRecord(toIdsOnly(absorbMatches(call)), id)
  return record
}

/** Returns a call that knows of its records by their ids, for what nobody reads. */
function toIdsOnly(call: AdapterCall): AdapterCall {
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
  if (isSelecting) await callDatabase(() => checkSelected(call, id))
  const written = await change(toIdsOnly(absorbed))
  return copyEventNote(written, await readAnswer(absorbed, written))
}

async function checkSelected(call: AdapterCall, id: AdapterId): Promise<void> {
  const filter = toIdFilter(call, id)
  const query = { ...call.query, filter, sort: undefined, skip: 0, limit: 1 }
  const stages = [...toStages({ ...call, query }), { $limit: 1 }, { $project: { _id: 1 } }]
  const [found] = await aggregateAll(call, stages)
  if (found === undefined) throw new NotFound(`No record found for id '${id}'`)
}

/**
 * The record was written: where the pipeline makes nothing of what it has become, its ids tell so,
 * and nothing else that the pipeline was to leave out.
 */
async function readAnswer(call: AdapterCall, written: Document): Promise<Document> {
  const { settings, query } = call
  const { id } = settings
  const { _id } = written
  const filter = { _id, ...toShardConditions(written, query.filter, settings) }
  const [answer] = await aggregateAll(call, toAnswerStages(call, filter))
  return answer ?? { _id, [id]: written[id] }
}

/** The answer is read back: nothing of the new record is made up from its data. */
function toInsertCall(call: AdapterCall): AdapterCall {
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
  const update = toUpdateDocument(data, call.settings.id)
  return runIsolated(call, async (isolated) => {
    const absorbed = absorbMatches(isolated)
    const ids = await search(isolated, (limited) =>
      findPipelineIds(limited, absorbMatches(limited)),
    )
    if (ids.length === 0) return []
    const changed = await changeAll(absorbed, ids, update)
    const answer = await aggregateAll(absorbed, toAnswerStages(absorbed, changed))
    return keepById(answer, ids, absorbed)
  })
}

/**
 * Resolves to what the pipeline makes of all records that matched, as they were: three commands in
 * one transaction, however many records they are.
 */
export async function removePipelineRecords(call: AdapterCall): Promise<Document[]> {
  return runIsolated(call, async (isolated) => {
    const absorbed = absorbMatches(isolated)
    const ids = await search(isolated, (limited) =>
      findPipelineIds(limited, absorbMatches(limited)),
    )
    if (ids.length === 0) return []
    const found = toAnswerStages(absorbed, { _id: { $in: ids } })
    const records = await search(absorbed, (limited) => aggregateAll(limited, found))
    return removeAll(absorbed, ids, keepById(records, ids, absorbed))
  })
}

/** Resolves to the `_id` of all records of the collection that a pipeline does not leave out. */
async function findPipelineIds(call: AdapterCall, absorbed: AdapterCall): Promise<unknown[]> {
  if (findSelecting(absorbed.pipeline ?? NO_STAGES) === undefined) return findIds(absorbed)
  const query = { ...call.query, limit: undefined }
  const stages = [...toStages({ ...call, query }), { $group: { _id: '$_id' } }]
  return (await aggregateAll(call, stages)).map(({ _id }) => _id)
}
