import { suggestMethod, suggestName } from '../options/name-suggestion.ts'
import type { ServiceAdvice } from '../services/method-entry.ts'
import type { InputDescription } from '../services/service-input.ts'
import {
  describeHook,
  explainMissingNext,
  warnMissingResult,
  warnOfReturned,
} from './hook-advice.ts'
import type { WithServices } from './hook-check.ts'
import { checkAllHooks } from './hook-check.ts'
import { describeInput, hintAtService, warnOfMethodName } from './service-advice.ts'

/** What tells the author of an application of mistakes, and how to correct them. */
export interface Advice extends ServiceAdvice {
  /** Says what a value is that stands where a service is meant, and where it belongs. */
  readonly describeInput: InputDescription
  /** Returns options for the error of a path without a service: which one may be meant. */
  hintAtService(path: string, paths: Iterable<string>): ErrorOptions
  /** Called when all services are set up. Throws where a hook can never do what it is for. */
  checkHooks(app: WithServices): void
}

/** All that applications tell their authors. Clients do without it: browsers would have to load it. */
export const ADVICE: Advice = {
  checkHooks: checkAllHooks,
  describeHook,
  describeInput,
  explainError: explainMissingNext,
  hintAtService,
  suggestMethod,
  suggestName,
  warnOfEvent: warnOfMethodName,
  warnOfResult: warnMissingResult,
  warnOfReturned,
}
