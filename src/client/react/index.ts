/**
 * Live queries for React.
 * @module remex/react
 */

export type { LiveArguments, LiveState } from '../realtime/live-state.ts'
export { useLive } from './use-live.ts'
