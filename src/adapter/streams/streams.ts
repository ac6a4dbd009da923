import { NotAcceptable } from '../../core/errors/index.ts'
import type { StreamableService } from '../../core/services/record-stream.ts'
import { checkFind, sanitizeParams } from '../call-checks.ts'
import { readFacts } from '../call-facts.ts'
import type { CalledService, CallFeature, FindMethods } from '../call-feature.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { openBatches } from './record-stream.ts'

/** Answers to `find` that are streams. */
export const STREAMS: CallFeature = { createMembers: createStreamedMembers }

function createStreamedMembers(
  own: FindMethods,
): StreamableService & ThisType<CalledService & FindMethods> {
  return {
    /** The most records of one stream for callers outside. */
    get maxStreamed() {
      return this.options.limits.stream
    },
    /**
     * Opens a stream of what `find` finds with these params, without pages and up to `limits.stream`.
     * @throws {BadRequest} the query is refused, or the call is one of a transaction
     * @throws {NotAcceptable} the options for this call have no streams
     * @throws {MethodNotAllowed} a subclass has a `find` of its own, of which nobody knows what it shows
     */
    async streamRecords(params: MongoDBParams) {
      checkFind(this, own)
      const facts = readFacts(this, params)
      const { limits, paginate } = facts.settings
      if (limits.stream === 0) throw new NotAcceptable('This call has no stream of records')
      const checked = sanitizeParams(params, this, facts)
      checked.adapter = { ...checked.adapter, paginate: false }
      const max = facts.isExternal ? limits.stream : Number.POSITIVE_INFINITY
      const batches = await openBatches(this, checked, max)
      const { default: pageSize } = paginate || {}
      return { isPage: Boolean(pageSize), batches }
    },
  }
}
