import type { Document } from 'mongodb'

import type { AdapterCall } from '../adapter-call.ts'
import { findIds } from '../queries/find.ts'
import { toUpdateDocument } from '../writes/update-document.ts'
import { changeAll, removeAll } from '../writes/write.ts'
import type { WriteData } from '../writes/write-data.ts'
import { toStages } from './framework-stages.ts'
import { absorbMatches } from './leading-matches.ts'
import { aggregateAll } from './pipeline-find.ts'
import { toAnswerCall } from './pipeline-write.ts'
import { NO_STAGES } from './read-pipeline.ts'
import { findSelecting } from './write-check.ts'

/**
 * Resolves to what the pipeline makes of all records that matched, after the change: three commands,
 * one when nothing matches.
 */
export async function patchPipelineRecords(
  call: AdapterCall,
  data: WriteData,
): Promise<Document[]> {
  const absorbed = absorbMatches(call)
  const update = toUpdateDocument(data, call.settings.id)
  const ids = await findPipelineIds(absorbed)
  if (ids.length === 0) return []
  return aggregateAll(toAnswerCall(absorbed, await changeAll(absorbed, ids, update)))
}

/**
 * Resolves to what the pipeline makes of all records that matched, as they were: three commands, one
 * when nothing matches.
 */
export async function removePipelineRecords(call: AdapterCall): Promise<Document[]> {
  const absorbed = absorbMatches(call)
  const ids = await findPipelineIds(absorbed)
  if (ids.length === 0) return []
  const records = await aggregateAll(toAnswerCall(absorbed, { _id: { $in: ids } }))
  return removeAll(absorbed, ids, records)
}

/** Resolves to the `_id` of all records of the collection that a pipeline does not leave out. */
async function findPipelineIds(call: AdapterCall): Promise<unknown[]> {
  if (findSelecting(call.pipeline ?? NO_STAGES) === undefined) return findIds(call)
  const query = { ...call.query, limit: undefined }
  const stages = [...toStages({ ...call, query }), { $group: { _id: '$_id' } }]
  return (await aggregateAll(call, stages)).map(({ _id }) => _id)
}
