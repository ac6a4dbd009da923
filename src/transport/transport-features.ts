import { SERVER_SUPPORT } from '../core/create-app.ts'
import type { OptionRules } from '../core/options/option-check.ts'
import { OPTION } from '../core/options/option-check.ts'
import { attachSchemas } from '../core/schema/service/lazy-schemas.ts'
import type { ServerSupport } from '../core/services/method-entry.ts'
import { isObserved, observe, traceHooks } from './observing/call-channel.ts'
import type { StreamOptions } from './streams/open-exports.ts'
import { STREAM_RULES } from './streams/open-exports.ts'

/** What features add to the options of the REST transport. */
export interface FeatureOptions extends StreamOptions {
  /**
   * From how many milliseconds on a call is logged as slow, with the names in its query. Default: none is.
   */
  readonly slowMs?: number
}

/** The rules of these options. */
export const FEATURE_RULES: Record<keyof FeatureOptions, OptionRules[string]> = {
  slowMs: OPTION.limit,
  ...STREAM_RULES,
}

/** Returns what an application of `createApp()` has: that of the core, and what features of this layer add. */
export function createSupport(): ServerSupport {
  return {
    ...SERVER_SUPPORT,
    attachSchemas,
    traceHooks,
    observe,
    get isObserved() {
      return isObserved()
    },
  }
}
