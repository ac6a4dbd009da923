import type { StagedCall } from './framework-stages.ts'
import { hasFurtherStages } from './framework-stages.ts'
import { takeMatches } from './text-first.ts'

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
