/**
 * Streams of records by server-sent events.
 * @module remex/realtime
 */

export type { PublishContext, Publisher, Subscriber } from './publish.ts'
export { publish } from './publish.ts'
export { realtime } from './realtime.ts'
export type { RealtimeOptions } from './realtime-options.ts'
export { recheckStreams } from './recheck.ts'
