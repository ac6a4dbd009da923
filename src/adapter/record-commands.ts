import type { Document } from 'mongodb'

import type { Page } from '../core/params.ts'
import type { AdapterCall } from './adapter-call.ts'
import type { AdapterId } from './object-id.ts'
import { absorbMatches } from './pipelines/framework-stages.ts'
import {
  changePipelineRecord,
  countPipeline,
  createPipelineRecord,
  createPipelineRecords,
  findPipelinePage,
  getPipelineRecord,
  patchPipelineRecords,
  removePipelineRecord,
  removePipelineRecords,
} from './pipelines/pipeline-commands.ts'
import { countRecords, findPage, getRecord } from './queries/find.ts'
import {
  checkShardKeyKept,
  checkShardValues,
  checkTarget,
  createMissingConditions,
} from './shard-key.ts'
import {
  createRecord,
  createRecords,
  patchRecord,
  removeRecord,
  updateRecord,
} from './writes/write.ts'
import type { WriteData } from './writes/write-data.ts'
import { hasOperators } from './writes/write-data.ts'
import type { WriteCount } from './writes/write-many.ts'
import { patchRecords, patchUnread, removeRecords, removeUnread } from './writes/write-many.ts'

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
  update: (call, id, data) =>
    changePipelineRecord(call, id, (change) => updateRecord(change, id, data)),
  patch: (call, id, data) =>
    changePipelineRecord(call, id, (change) => patchRecord(change, id, data)),
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
export function selectCommands({ pipeline, isReturning, settings }: AdapterCall): RecordCommands {
  const read = isReturning ? PLAIN : WITHOUT_ANSWER
  const commands = pipeline === null ? read : WITH_PIPELINE
  return settings.shardKey.length === 0 ? commands : withShardChecks(commands)
}

/** Returns commands that go to one shard when they are about one record, and move none to another. */
function withShardChecks(commands: RecordCommands): RecordCommands {
  return {
    ...commands,
    get: async (call, id) => {
      checkTarget(getFullFilter(call), call.settings)
      return commands.get(call, id)
    },
    create: async (call, data) => {
      checkShardValues(data, call.settings)
      return commands.create(call, data)
    },
    createMany: async (call, list) => {
      for (const data of list) checkShardValues(data, call.settings)
      return commands.createMany(call, list)
    },
    update: async (call, id, data) => {
      const targeted = hasOperators(data) ? call : withValuesOf(data, call)
      checkTarget(getFullFilter(targeted), call.settings)
      checkShardKeyKept(data, getFullFilter(targeted), call.settings)
      return commands.update(targeted, id, data)
    },
    patch: async (call, id, data) => {
      checkTarget(getFullFilter(call), call.settings)
      checkShardKeyKept(data, getFullFilter(call), call.settings)
      return commands.patch(call, id, data)
    },
    patchMany: async (call, data) => {
      checkShardKeyKept(data, getFullFilter(call), call.settings)
      return commands.patchMany(call, data)
    },
    remove: async (call, id) => {
      checkTarget(getFullFilter(call), call.settings)
      return commands.remove(call, id)
    },
  }
}

/** A record that is replaced tells its shard itself, where the query does not. */
function withValuesOf(data: WriteData, call: AdapterCall): AdapterCall {
  const { settings, query } = call
  checkShardValues(data, settings)
  const conditions = createMissingConditions(data, getFullFilter(call), settings)
  const filter = { $and: [query.filter, conditions] }
  return Object.keys(conditions).length === 0 ? call : { ...call, query: { ...query, filter } }
}

/** Returns all conditions that the records of a call are found by. */
function getFullFilter(call: AdapterCall): Document {
  return absorbMatches(call).query.filter
}
