import { SERVER_SUPPORT } from '../core/create-app.ts'
import type { OptionRules } from '../core/options/option-check.ts'
import { OPTION } from '../core/options/option-check.ts'
import { attachSchemas } from '../core/schema/service/lazy-schemas.ts'
import type { ServerSupport } from '../core/services/method-entry.ts'
import { isObserved, observe, traceHooks } from './observing/call-channel.ts'
import type { StreamOptions } from './streams/open-exports.ts'
import { STREAM_RULES } from './streams/open-exports.ts'

/** Options of the REST transport that features add. */
export interface FeatureOptions extends StreamOptions {
  /**
   * Calls that take at least this many milliseconds are logged as slow, with the names in their query. Default: none.
   */
  readonly slowMs?: number
}

/** The rules of these options. */
export const FEATURE_RULES: Record<keyof FeatureOptions, OptionRules[string]> = {
  slowMs: OPTION.limit,
  ...STREAM_RULES,
}

/** Returns the server support for `createApp()`: that of the core, and the additions of this layer. */
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
