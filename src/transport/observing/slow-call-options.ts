import type { OptionRules } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'

/** The option of slow calls in those of a transport. */
export interface SlowCallOptions {
  /**
   * From how many milliseconds on a call is logged as slow, with the names in its query. Default: none is.
   */
  readonly slowMs?: number
}

export const SLOW_CALL_RULES: Record<keyof SlowCallOptions, OptionRules[string]> = {
  slowMs: OPTION.limit,
}
