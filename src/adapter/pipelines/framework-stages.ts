import type { Document } from 'mongodb'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
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

/** Stages that change fields of each record, including the `_id` if they name it. */
const OF_FIELDS: readonly string[] = [
  ...['$addFields', '$set', '$unset', '$project', '$lookup', '$graphLookup', '$fill'],
  '$setWindowFields',
]

/** Stages that drop records by count. */
const COUNTING_OUT: ReadonlySet<string> = new Set(['$skip', '$sample'])

/** Stages that keep each record exactly once, however they change it. */
const KEEPS_RECORDS: ReadonlySet<string> = new Set([
  ...[...OF_FIELDS, '$sort', '$replaceRoot', '$replaceWith'],
])

/** Stages after which an `_id` still belongs to a record of the collection. */
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
 * Returns the stages for the query of a call: `$match`, `$sort`, `$skip`, `$limit`, then `$project` when
 * fields are selected, and `$unset` for fields that the caller must not get.
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
 * Returns the stages that turn written records into a result. They see only these records: stages before the
 * marker, such as `$sort` and `$limit`, select nothing new, and `$skip` and `$sample` are dropped, as they
 * have already run.
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

/** Returns the stages that yield one document with the number of records on all pages. */
export function createCountStages(call: StagedCall): Document[] {
  const own = [{ $match: call.query.filter }, ...createFieldStages(call)]
  return [...surround(call, own), { $count: 'total' }]
}

function surround({ pipeline, hidden }: StagedCall, own: readonly Document[]): Document[] {
  const { before, after } = pipeline ?? NO_STAGES
  // Hidden fields are removed again at the end: a stage may have brought one back, by `$lookup` in the same
  // collection.
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
 * Returns a call whose filter includes the conditions of the `$match` stages that see records as stored; its
 * pipeline keeps the other stages. So one command can find and change a record, and a condition of the change
 * is not applied again to the changed record.
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

/** Operations that only run the pipeline: no other command depends on its result. */
const RAW: ReadonlySet<Operation> = new Set(['aggregate', 'aggregate into a collection'])

/**
 * Checks that an operation can be done with a pipeline.
 * @throws {TypeError} a stage writes, hides which records would be changed, or could drop the record of an
 *   upsert; names the stage
 */
export function checkPipelineUse(operation: Operation, call: StagedCall): void {
  const { pipeline, driver } = call
  if (pipeline === null || RAW.has(operation)) return
  if (operation === 'cursor') {
    throw new ArgumentError('findRaw takes no params.pipeline: aggregateRaw does')
  }
  checkReadOnly(pipeline)
  const leftOut = driver.upsert ? findSelecting(absorbMatches(call)) : undefined
  if (leftOut !== undefined) {
    throw new ArgumentError(
      `params.docdb.upsert cannot be combined with ${getStageName(leftOut)} in params.pipeline, unless it is a $match of stored records`,
    )
  }
  if (!ON_MANY.has(operation) || findSelecting(call) === undefined) return
  const odd = listStages(pipeline).find(
    (stage) => !KEEPS_IDS.has(getStageName(stage)) || setsId(stage),
  )
  if (odd === undefined) return
  throw new ArgumentError(
    `A pipeline with ${getStageName(odd)} does not tell which records to ${toMethodName(operation)}`,
  )
}

/** Returns the first stage that may leave out a record, or return it more than once. */
export function findSelecting({ pipeline }: StagedCall): PipelineStage | undefined {
  const stages = pipeline === null ? [] : listStages(pipeline)
  return stages.find((stage) => !KEEPS_RECORDS.has(getStageName(stage)))
}

/** Whether a stage changes the `_id` by which a record is found. */
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
