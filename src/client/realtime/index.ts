/**
 * Live queries for clients: events of other clients' writes, and lists of records that are kept up to date.
 * @module remex/client/realtime
 */

export type { LiveEvent, LiveStatus, RecordOf, SubscriptionParams } from './live-event.ts'
export { LiveList } from './live-list.ts'
export type { FoundBy, LiveOptions as RealtimeOptions, LiveParams } from './realtime.ts'
export { live, realtime, subscribe } from './realtime.ts'
