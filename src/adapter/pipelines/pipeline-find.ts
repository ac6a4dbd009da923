import type { AggregateOptions, AggregationCursor, Document } from 'mongodb'

import { NotFound } from '../../core/errors/index.ts'
import type { Page } from '../../core/params.ts'
import type { AdapterCall } from '../adapter-call.ts'
import type { AdapterId } from '../object-id.ts'
import { ALL_IN_ONE_BATCH, findPage, toIdFilter } from '../queries/find.ts'
import { toCountStages, toStages } from './framework-stages.ts'

/** Returns a cursor over what stages yield, those of the call unless others are given. */
export function openAggregation(
  { collection, driver }: AdapterCall,
  stages: Document[],
): AggregationCursor {
  return collection.aggregate(stages, driver as AggregateOptions)
}

/** Resolves to all that stages yield, by one command unless it is more than 16 MiB. */
export async function aggregateAll(
  call: AdapterCall,
  stages: Document[] = toStages(call),
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
  const [counted] = await aggregateAll(call, toCountStages(call))
  return counted?.['total'] ?? 0
}

/**
 * Resolves to what the pipeline makes of the record with an id, the first if there are several.
 * @throws {NotFound} none has this id, or the query or the pipeline excludes it
 */
export async function getPipelineRecord(call: AdapterCall, id: AdapterId): Promise<Document> {
  const query = { ...call.query, filter: toIdFilter(call, id), sort: undefined, skip: 0, limit: 1 }
  const [record] = await aggregateAll(call, [...toStages({ ...call, query }), { $limit: 1 }])
  if (record === undefined) throw new NotFound(`No record found for id '${id}'`)
  return record
}
