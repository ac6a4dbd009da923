/**
 * Live queries for Vue.
 * @module remex/vue
 */

export type { LiveState } from '../realtime/live-state.ts'
export type { LiveRefs, LiveSources } from './use-live.ts'
export { useLive } from './use-live.ts'
