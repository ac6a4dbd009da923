/**
 * Live queries for clients: events of others, and lists of records that are kept current.
 * @module remex/client/realtime
 */

export type { LiveEvent, LiveStatus, RecordOf, SubscriptionParams } from './live-event.ts'
export { LiveList } from './live-list.ts'
export type { FoundBy, LiveOptions as RealtimeOptions, LiveParams } from './realtime.ts'
export { live, realtime, subscribe } from './realtime.ts'
