import type { Params } from '../params.ts'

/** The records of one call of `find`, without pages. */
export interface RecordStream {
  /** Whether `find` would return a page, not a list: its hooks expect that. */
  readonly isPage: boolean
  /** The records in batches. A reader that stops early must call `return()`. */
  readonly batches: AsyncGenerator<readonly object[], void, undefined>
}

/** A service whose records can be streamed, such as a MongoDB service. */
export interface StreamableService {
  /** The maximum number of records in one stream for external callers, 0 for no streams. */
  readonly maxStreamed: number
  /**
   * Opens a stream of the records that `find` finds with these params.
   * @throws {NotAcceptable} this service, or this call, has no streams
   */
  streamRecords(params: Params): Promise<RecordStream>
}

/** Whether external callers may get the records of a service as streams. */
export function isStreamable(service: object): service is StreamableService {
  const { streamRecords, maxStreamed = 0 } = service as Partial<StreamableService>
  return typeof streamRecords === 'function' && maxStreamed > 0
}
