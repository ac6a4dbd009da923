import type { Document } from 'mongodb'

import type { DriverOptions, PipelineStage } from '../driver-options.ts'
import { toOutermost } from '../field-path.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { toProjection } from '../queries/select.ts'
import type { SplitQuery } from '../queries/split-query.ts'
import type { Pipeline } from './read-pipeline.ts'
import { NO_STAGES, toStageName } from './read-pipeline.ts'
import { COUNTING_OUT, FIRST_ONLY } from './stage-kinds.ts'

/** What the stages of a query are made of. */
export interface StageSource {
  readonly settings: MongoDBSettings
  readonly query: SplitQuery
  readonly hidden: readonly string[]
  readonly driver: DriverOptions
}

/** What all stages of a call are made of. */
export interface StagedCall extends StageSource {
  readonly pipeline: Pipeline | null
}

/** `$limit` takes no 0. */
const NOTHING: Document = { $match: { _id: { $in: [] } } }

/**
 * Returns the stages that stand for the query of a call: `$match`, `$sort`, `$skip`, `$limit`, then
 * `$project` when fields are selected, and `$unset` for fields that the caller must not get.
 */
export function toOwnStages(source: StageSource): Document[] {
  const { filter, sort, skip, limit } = source.query
  return [
    { $match: filter },
    ...(sort === undefined || Object.keys(sort).length === 0 ? [] : [{ $sort: sort }]),
    { $skip: skip },
    ...(limit === undefined ? [] : [limit === 0 ? NOTHING : { $limit: limit }]),
    ...toFieldStages(source),
  ]
}

/** Returns all stages of a call: those of `params.pipeline` around those of its query. */
export function toStages(call: StagedCall): Document[] {
  return surround(call, toOwnStages(call))
}

/**
 * Returns the stages that make an answer of records which were written. They see no others: what
 * stands before the marker, `$sort` and `$limit` for example, does not select anew, and `$skip` and
 * `$sample` have had their turn.
 */
export function toAnswerStages(call: StagedCall, filter: Document): Document[] {
  const query = { ...call.query, skip: 0, limit: undefined }
  const { before, after } = call.pipeline ?? NO_STAGES
  const isLeft = (stage: PipelineStage): boolean => !COUNTING_OUT.has(toStageName(stage))
  const pipeline = { before: before.filter(isLeft), after: after.filter(isLeft) }
  const [first] = pipeline.before
  if (first === undefined || FIRST_ONLY.has(toStageName(first))) {
    return toStages({ ...call, pipeline, query: { ...query, filter } })
  }
  return [{ $match: filter }, ...toStages({ ...call, pipeline, query: { ...query, filter: {} } })]
}

/** Returns the stages that yield one document, of how many there are on all pages. */
export function toCountStages(call: StagedCall): Document[] {
  const own = [{ $match: call.query.filter }, ...toFieldStages(call)]
  return [...surround(call, own), { $count: 'total' }]
}

/** Returns whether the stages of a query do more than to find records, so that later ones see less. */
export function hasFurtherStages(source: StageSource): boolean {
  return source.query.skip > 0 || toFieldStages(source).length > 0
}

function surround({ pipeline, hidden }: StagedCall, own: readonly Document[]): Document[] {
  const { before, after } = pipeline ?? NO_STAGES
  // Again at the end: a stage may have brought a field back, by `$lookup` in the same collection.
  return [...before, ...own, ...after, ...(after.length === 0 ? [] : toUnset(hidden))]
}

function toFieldStages({ settings, query, hidden, driver }: StageSource): Document[] {
  const { select } = query
  const selected = select === undefined ? undefined : toProjection(select, settings.id)
  const projection = driver.projection ?? selected
  return [...(projection === undefined ? [] : [{ $project: projection }]), ...toUnset(hidden)]
}

function toUnset(hidden: readonly string[]): Document[] {
  return hidden.length === 0 ? [] : [{ $unset: toOutermost(hidden) }]
}
