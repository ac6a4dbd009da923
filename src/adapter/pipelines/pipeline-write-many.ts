import type { Document } from 'mongodb'

import type { AdapterCall } from '../adapter-call.ts'
import { findIds } from '../queries/find.ts'
import { runIsolated } from '../transactions/isolated-call.ts'
import { toUpdateDocument } from '../writes/update-document.ts'
import type { WriteData } from '../writes/write-data.ts'
import { changeAll, keepById, removeAll, search } from '../writes/write-many.ts'
import { toAnswerStages, toStages } from './framework-stages.ts'
import { absorbMatches } from './leading-matches.ts'
import { aggregateAll } from './pipeline-find.ts'
import { NO_STAGES } from './read-pipeline.ts'
import { findSelecting } from './write-check.ts'

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
