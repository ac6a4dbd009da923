import type { Document } from 'mongodb'
import { isObject } from '../../core/value-kind.ts'
import { selectOutermost } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import type { DriverOptions, Operation, PipelineStage } from '../mongodb-params.ts'
import { ON_MANY, toMethodName } from '../mongodb-params.ts'
import { createProjection } from '../queries/select.ts'
import type { SplitQuery } from '../queries/split-query.ts'
import type { Pipeline } from './pipeline-option.ts'
import {
  checkReadOnly,
  FIRST_ONLY,
  getStageName,
  listStages,
  NO_STAGES,
  takeMatches,
} from './pipeline-option.ts'

/** Stages that change fields of each record, the `_id` too where they name it. */
const OF_FIELDS: readonly string[] = [
  ...['$addFields', '$set', '$unset', '$project', '$lookup', '$graphLookup', '$fill'],
  '$setWindowFields',
]

/** Stages that leave out records by their number, whichever these are. */
const COUNTING_OUT: ReadonlySet<string> = new Set(['$skip', '$sample'])

/** Stages after which each record is still there, once, whatever has become of it. */
const KEEPS_RECORDS: ReadonlySet<string> = new Set([
  ...[...OF_FIELDS, '$sort', '$replaceRoot', '$replaceWith'],
])

/** Stages after which an `_id` is still that of a record of the collection. */
const KEEPS_IDS: ReadonlySet<string> = new Set([
  ...[...OF_FIELDS, '$sort', '$match', '$limit', '$skip', '$sample', '$unwind', '$redact'],
  ...['$geoNear', '$search', '$vectorSearch'],
])

/** What the stages of a call are made of. */
interface StagedCall {
  readonly settings: MongoDBSettings
  readonly query: SplitQuery
  readonly hidden: readonly string[]
  readonly pipeline: Pipeline | null
  readonly driver: DriverOptions
}

/** `$limit` takes no 0. */
const NOTHING: Document = { $match: { _id: { $in: [] } } }

/**
 * Returns the stages that stand for the query of a call: `$match`, `$sort`, `$skip`, `$limit`, then
 * `$project` when fields are selected, and `$unset` for fields that the caller must not get.
 */
export function createQueryStages(call: StagedCall): Document[] {
  const { filter, sort, skip, limit } = call.query
  return [
    { $match: filter },
    ...(sort === undefined || Object.keys(sort).length === 0 ? [] : [{ $sort: sort }]),
    { $skip: skip },
    ...(limit === undefined ? [] : [limit === 0 ? NOTHING : { $limit: limit }]),
    ...createFieldStages(call),
  ]
}

/** Returns all stages of a call: those of `params.pipeline` around those of its query. */
export function createStages(call: StagedCall): Document[] {
  return surround(call, createQueryStages(call))
}

/**
 * Returns the stages that make an answer of records which were written. They see no others: what
 * stands before the marker, `$sort` and `$limit` for example, does not select anew, and `$skip` and
 * `$sample` have had their turn.
 */
export function createAnswerStages(call: StagedCall, filter: Document): Document[] {
  const query = { ...call.query, skip: 0, limit: undefined }
  const { before, after } = call.pipeline ?? NO_STAGES
  const isLeft = (stage: PipelineStage): boolean => !COUNTING_OUT.has(getStageName(stage))
  const pipeline = { before: before.filter(isLeft), after: after.filter(isLeft) }
  const [first] = pipeline.before
  if (first === undefined || FIRST_ONLY.has(getStageName(first))) {
    return createStages({ ...call, pipeline, query: { ...query, filter } })
  }
  return [
    { $match: filter },
    ...createStages({ ...call, pipeline, query: { ...query, filter: {} } }),
  ]
}

/** Returns the stages that yield one document, of how many there are on all pages. */
export function createCountStages(call: StagedCall): Document[] {
  const own = [{ $match: call.query.filter }, ...createFieldStages(call)]
  return [...surround(call, own), { $count: 'total' }]
}

function surround({ pipeline, hidden }: StagedCall, own: readonly Document[]): Document[] {
  const { before, after } = pipeline ?? NO_STAGES
  // Again at the end: a stage may have brought a field back, by `$lookup` in the same collection.
  return [...before, ...own, ...after, ...(after.length === 0 ? [] : createUnsetStages(hidden))]
}

function createFieldStages({ settings, query, hidden, driver }: StagedCall): Document[] {
  const { select } = query
  const selected = select === undefined ? undefined : createProjection(select, settings.id)
  const projection = driver.projection ?? selected
  return [
    ...(projection === undefined ? [] : [{ $project: projection }]),
    ...createUnsetStages(hidden),
  ]
}

function createUnsetStages(hidden: readonly string[]): Document[] {
  return hidden.length === 0 ? [] : [{ $unset: selectOutermost(hidden) }]
}

/**
 * Returns a call whose filter has the conditions of those `$match` stages that see records as they
 * are stored; its pipeline has the other stages. One command can find and change a record by them,
 * and a stage that was a condition of a change does not judge what has become of the record.
 */
export function absorbMatches<Call extends StagedCall>(call: Call): Call {
  const { query, pipeline } = call
  const before = takeMatches(pipeline?.before ?? [])
  const isWhole = query.skip === 0 && createFieldStages(call).length === 0
  const seesStored = before.rest.length === 0 && isWhole
  const after = seesStored
    ? takeMatches(pipeline?.after ?? [])
    : { conditions: [], rest: pipeline?.after ?? [] }
  const conditions = [...before.conditions, ...after.conditions]
  if (conditions.length === 0) return call
  const filter = { $and: [query.filter, ...conditions] }
  return {
    ...call,
    query: { ...query, filter },
    pipeline: { before: before.rest, after: after.rest },
  }
}

/** Nothing but the pipeline: no command of ours depends on what it does. */
const RAW: ReadonlySet<Operation> = new Set(['aggregate', 'aggregate into a collection'])

/**
 * Checks that an operation can be done with a pipeline.
 * @throws {TypeError} a stage writes, hides which records of the collection would be changed, or could
 *   leave out the one that an upsert is about; names the stage
 */
export function checkPipelineUse(operation: Operation, call: StagedCall): void {
  const { pipeline, driver } = call
  if (pipeline === null || RAW.has(operation)) return
  if (operation === 'cursor') {
    throw new TypeError('findRaw takes no params.pipeline: aggregateRaw does')
  }
  checkReadOnly(pipeline)
  const leftOut = driver.upsert ? findSelecting(absorbMatches(call)) : undefined
  if (leftOut !== undefined) {
    throw new TypeError(
      `params.docdb.upsert can not go with ${getStageName(leftOut)} in params.pipeline, unless it is a $match of stored records`,
    )
  }
  if (!ON_MANY.has(operation) || findSelecting(call) === undefined) return
  const odd = listStages(pipeline).find(
    (stage) => !KEEPS_IDS.has(getStageName(stage)) || setsId(stage),
  )
  if (odd === undefined) return
  throw new TypeError(
    `A pipeline with ${getStageName(odd)} does not tell which records to ${toMethodName(operation)}`,
  )
}

/** Returns the first stage that may leave out a record, or return it more than once. */
export function findSelecting({ pipeline }: StagedCall): PipelineStage | undefined {
  const stages = pipeline === null ? [] : listStages(pipeline)
  return stages.find((stage) => !KEEPS_RECORDS.has(getStageName(stage)))
}

/** Whether a stage leaves another `_id` in a record than that by which it is found. */
function setsId(stage: PipelineStage): boolean {
  const name = getStageName(stage)
  const { [name]: spec } = stage as Readonly<Record<string, unknown>>
  if (name === '$unset') return [spec].flat().some(isOfId)
  if (!isObject(spec) || ![...OF_FIELDS, '$unwind'].includes(name)) return false
  const { as, includeArrayIndex, output } = spec
  if (isOfId(as) || isOfId(includeArrayIndex)) return true
  if (isObject(output)) return Object.keys(output).some(isOfId)
  const isKept = (value: unknown): boolean => name === '$project' && (value === 1 || value === true)
  return Object.entries(spec).some(([field, value]) => isOfId(field) && !isKept(value))
}

function isOfId(path: unknown): boolean {
  return path === '_id' || (typeof path === 'string' && path.startsWith('_id.'))
}
