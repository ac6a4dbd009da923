import type { Document } from 'mongodb'

import type { PipelineStage } from '../driver-options.ts'
import type { StagedCall } from './framework-stages.ts'
import { hasFurtherStages } from './framework-stages.ts'

/**
 * Returns a call whose filter has the conditions of those `$match` stages that see records as they
 * are stored; its pipeline has the other stages. One command can find and change a record by them,
 * and a stage that was a condition of a change does not judge what has become of the record.
 */
export function absorbMatches<Call extends StagedCall>(call: Call): Call {
  const { query, pipeline } = call
  const before = takeMatches(pipeline?.before ?? [])
  const seesStored = before.rest.length === 0 && !hasFurtherStages(call)
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

interface Taken {
  readonly conditions: readonly Document[]
  readonly rest: readonly PipelineStage[]
}

function takeMatches(stages: readonly PipelineStage[]): Taken {
  const other = stages.findIndex((stage) => !Object.hasOwn(stage, '$match'))
  const end = other === -1 ? stages.length : other
  return {
    conditions: stages.slice(0, end).map((stage) => stage['$match'] as Document),
    rest: stages.slice(end),
  }
}
