import type { AggregationCursor, Document, FindCursor } from 'mongodb'
import { InvalidStream, StreamUnsupported } from '../../core/errors/coded-errors.ts'
import type { RecordStream, StreamableService } from '../../core/services/record-stream.ts'
import type { AdapterCall } from '../adapter-call.ts'
import { readFacts } from '../adapter-call.ts'
import { callAdapter } from '../call-adapter.ts'
import { checkFind, sanitizeParams } from '../call-checks.ts'
import type { CalledService, CallFeature, FindMethods } from '../call-feature.ts'
import type { ReadSignal } from '../connection/read-signal.ts'
import { toAbortError } from '../connection/read-signal.ts'
import { callDatabase } from '../driver-error.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { getGivenOptions } from '../mongodb-params.ts'
import { createStages } from '../pipelines/framework-stages.ts'
import { checkReadOnly, readPipeline } from '../pipelines/pipeline-option.ts'
import { openCursor } from '../queries/find.ts'
import { openAggregation } from '../record-commands.ts'

/** Streamed results of `find`. */
export const STREAMS: CallFeature = { createMembers: createStreamedMembers }

function createStreamedMembers(
  own: FindMethods,
): StreamableService & ThisType<CalledService & FindMethods> {
  return {
    get maxStreamed() {
      return this.options.limits.stream
    },
    async streamRecords(params: MongoDBParams) {
      checkFind(this, own)
      const facts = readFacts(this, params)
      const { limits, paginate } = facts.settings
      if (limits.stream === 0) throw new StreamUnsupported('This call has no stream of records')
      const checked = sanitizeParams(params, this, facts)
      checked.adapter = { ...checked.adapter, paginate: false }
      const max = facts.isExternal ? limits.stream : Number.POSITIVE_INFINITY
      const batches = await openBatches(this, checked, max)
      const { default: pageSize } = paginate || {}
      return { isPage: Boolean(pageSize), batches }
    },
  }
}

/** How many records hooks get at a time. */
const BATCH_RECORDS = 100

/** How many records one command fetches, unless `params.docdb.batchSize` is set. */
const FETCHED_RECORDS = 100

type Cursor = FindCursor | AggregationCursor

/** What can end a stream, other than its reader. */
interface StreamSignals {
  /** The signal that the driver follows until the first records arrive. */
  readonly reading: ReadSignal | undefined
  /** `params.docdb.signal`. */
  readonly given: AbortSignal | undefined
}

/**
 * Opens a cursor over the records of a query and returns them in batches. The cursor closes after the last
 * batch, or when the reader stops.
 * @param params with a checked query, without pages
 * @param max the maximum number of records
 * @throws {BadRequest} the call is in a transaction, which would end before the stream; in batches: there are
 *   more records
 */
async function openBatches(
  service: CalledService,
  params: MongoDBParams,
  max: number,
): Promise<RecordStream['batches']> {
  const pipeline = readPipeline(params.pipeline)
  if (pipeline !== null) checkReadOnly(pipeline)
  const known: { limit?: number | undefined; signal?: unknown } = {}
  const cursor = await callAdapter<Cursor>(
    pipeline === null ? 'cursor' : 'aggregate',
    service,
    params,
    (call) => {
      if (call.driver.session !== undefined) {
        throw new InvalidStream('A stream of records is not possible within a session')
      }
      known.limit = call.query.limit
      known.signal = call.driver.signal
      return openFor(call, max)
    },
  )
  // For the server, a limit of 0 means no limit.
  const most = known.limit === 0 ? 0 : max
  const given = getGivenOptions(params)?.signal
  return readBatches(cursor, most, { reading: known.signal as ReadSignal | undefined, given })
}

/**
 * Reads one record more than allowed, to notice that there are more. A pipeline may turn one record into
 * many, or none.
 */
function openFor(call: AdapterCall, max: number): Cursor {
  const { limit = Number.POSITIVE_INFINITY } = call.query
  const driver = { ...call.driver, batchSize: call.driver.batchSize ?? FETCHED_RECORDS }
  const read = Math.min(limit, max + 1)
  const query = { ...call.query, limit: Number.isFinite(read) ? read : undefined }
  return call.pipeline === null
    ? openCursor({ ...call, driver, query })
    : openAggregation({ ...call, driver }, createStages(call))
}

async function* readBatches(
  cursor: Cursor,
  most: number,
  { reading, given }: StreamSignals,
): RecordStream['batches'] {
  try {
    if (most === 0) return
    for (let left = most; ; left -= BATCH_RECORDS) {
      const batch = await callDatabase(() => readBatch(cursor))
      // The driver may end the cursor of an aborted read as if there were no more records.
      const aborted = [reading, given].find((signal) => signal?.aborted)
      if (aborted !== undefined) throw toAbortError(aborted.reason)
      // The driver leaves a cursor open when it aborts the command. From here on, a reader that stops closes
      // the cursor.
      reading?.end()
      if (batch.length > 0 && left > 0) yield batch.slice(0, left)
      if (batch.length > left) {
        throw new InvalidStream(`A stream of this service has at most ${most} records: set $limit`)
      }
      if (batch.length < BATCH_RECORDS) return
    }
  } finally {
    await cursor.close()
  }
}

async function readBatch(cursor: Cursor): Promise<Document[]> {
  const batch: Document[] = []
  while (batch.length < BATCH_RECORDS) {
    const record: Document | null = await cursor.next()
    if (record === null) break
    batch.push(record)
  }
  return batch
}
