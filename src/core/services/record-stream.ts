import type { Params } from '../params.ts'

/** The records that one call of `find` finds, without pages. */
export interface RecordStream {
  /** Whether `find` would answer by a page, and not by a list: its hooks are made for that. */
  readonly isPage: boolean
  /** The records, some of them at a time. What does not read to the end has to call `return()`. */
  readonly batches: AsyncGenerator<readonly object[], void, undefined>
}

/** A service whose records can be streamed: that of MongoDB is one. */
export interface StreamableService {
  /** The most records of one stream for callers outside, 0 for no streams. */
  readonly maxStreamed: number
  /**
   * Opens a stream of what `find` finds with these params.
   * @throws {NotAcceptable} this service, or this call, has no streams
   */
  streamRecords(params: Params): Promise<RecordStream>
}

/** Whether callers outside may have the records of a service as streams. */
export function isStreamable(service: object): service is StreamableService {
  const { streamRecords, maxStreamed = 0 } = service as Partial<StreamableService>
  return typeof streamRecords === 'function' && maxStreamed > 0
}
