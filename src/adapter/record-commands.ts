import type { Document } from 'mongodb'

import type { Page } from '../core/params.ts'
import type { AdapterCall } from './adapter-call.ts'
import type { AdapterId } from './object-id.ts'
import { countPipeline, findPipelinePage, getPipelineRecord } from './pipelines/pipeline-find.ts'
import {
  createPipelineRecord,
  createPipelineRecords,
  patchPipelineRecord,
  removePipelineRecord,
  updatePipelineRecord,
} from './pipelines/pipeline-write.ts'
import { patchPipelineRecords, removePipelineRecords } from './pipelines/pipeline-write-many.ts'
import { countRecords, findPage, getRecord } from './queries/find.ts'
import type { WriteCount } from './writes/unread-write.ts'
import { patchUnread, removeUnread } from './writes/unread-write.ts'
import {
  createRecord,
  createRecords,
  patchRecord,
  removeRecord,
  updateRecord,
} from './writes/write.ts'
import type { WriteData } from './writes/write-data.ts'
import { patchRecords, removeRecords } from './writes/write-many.ts'

/** How the methods of a service do what they do. */
export interface RecordCommands {
  find(call: AdapterCall): Promise<Page<Document> | Document[]>
  get(call: AdapterCall, id: AdapterId): Promise<Document>
  count(call: AdapterCall): Promise<number>
  create(call: AdapterCall, data: WriteData): Promise<Document>
  createMany(call: AdapterCall, list: readonly WriteData[]): Promise<Document[]>
  update(call: AdapterCall, id: AdapterId, data: WriteData): Promise<Document>
  patch(call: AdapterCall, id: AdapterId, data: WriteData): Promise<Document>
  patchMany(call: AdapterCall, data: WriteData): Promise<Document[] | WriteCount>
  remove(call: AdapterCall, id: AdapterId): Promise<Document>
  removeMany(call: AdapterCall): Promise<Document[] | WriteCount>
}

const PLAIN: RecordCommands = {
  find: findPage,
  get: getRecord,
  count: countRecords,
  create: createRecord,
  createMany: createRecords,
  update: updateRecord,
  patch: patchRecord,
  patchMany: patchRecords,
  remove: removeRecord,
  removeMany: removeRecords,
}

const WITH_PIPELINE: RecordCommands = {
  find: findPipelinePage,
  get: getPipelineRecord,
  count: countPipeline,
  create: createPipelineRecord,
  createMany: createPipelineRecords,
  update: updatePipelineRecord,
  patch: patchPipelineRecord,
  patchMany: patchPipelineRecords,
  remove: removePipelineRecord,
  removeMany: removePipelineRecords,
}

const WITHOUT_ANSWER: RecordCommands = {
  ...PLAIN,
  patchMany: patchUnread,
  removeMany: removeUnread,
}

/** Returns how a call does what it does: by commands of its own, or by aggregation as well. */
export function toCommands({ pipeline, isReturning }: AdapterCall): RecordCommands {
  if (pipeline !== null) return WITH_PIPELINE
  return isReturning ? PLAIN : WITHOUT_ANSWER
}
