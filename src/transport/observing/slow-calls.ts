import type { RestFeature } from '../rest-plan.ts'
import { toQueryShape } from './query-shape.ts'

/** Logs calls that take longer than the option `slowMs`, with the names in their query but none of its values. */
export const slowCalls: RestFeature = ({ name, entry }, { logger, options: { slowMs } }) => {
  if (slowMs === undefined) return null
  return {
    watch: () => {
      const startedAt = performance.now()
      return ({ context, facts, request }) => {
        const durationMs = Math.round(performance.now() - startedAt)
        if (durationMs < slowMs) return
        const call = { service: entry.path, method: name, requestId: request.id }
        const databaseCalls = facts?.databaseCalls ?? 0
        const query = toQueryShape(context?.params.query)
        logger.warn({ ...call, durationMs, databaseCalls, query }, 'Slow call')
      }
    },
  }
}
