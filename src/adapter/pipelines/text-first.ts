import type { Document } from 'mongodb'
import { withHint } from '../../core/errors/hint.ts'
import { BadRequest } from '../../core/errors/index.ts'
import type { PipelineStage } from '../driver-options.ts'
import type { SplitQuery } from '../queries/split-query.ts'
import type { Pipeline } from './read-pipeline.ts'
import { toStageName } from './read-pipeline.ts'

/** The part of a call that becomes its stages. */
interface StageParts {
  readonly query: SplitQuery
  readonly pipeline: Pipeline | null
}

/**
 * Returns a query and a pipeline whose text search is in the first stage, where the server takes it
 * alone: the conditions of `$match` stages before it join it.
 * @throws {BadRequest} another stage comes before it, which is named inside the process alone
 */
export function putTextFirst(parts: StageParts): StageParts {
  const { query, pipeline } = parts
  if (pipeline === null || !Object.hasOwn(query.filter, '$text')) return parts
  const { conditions, rest } = takeMatches(pipeline.before)
  const [other] = rest
  if (other !== undefined) {
    const hint = `it can not come after ${toStageName(other)} of params.pipeline`
    throw new BadRequest('The text search is not possible here', null, withHint(hint))
  }
  if (conditions.length === 0) return parts
  const filter = { $and: [query.filter, ...conditions] }
  return { query: { ...query, filter }, pipeline: { ...pipeline, before: [] } }
}

/** `$match` stages as conditions, and what comes after them. */
interface TakenMatches {
  readonly conditions: readonly Document[]
  readonly rest: readonly PipelineStage[]
}

/** Returns the `$match` stages that stages begin with apart from the others. */
export function takeMatches(stages: readonly PipelineStage[]): TakenMatches {
  const other = stages.findIndex((stage) => !Object.hasOwn(stage, '$match'))
  const end = other === -1 ? stages.length : other
  return {
    conditions: stages.slice(0, end).map((stage) => stage['$match'] as Document),
    rest: stages.slice(end),
  }
}
