import {
  describeHook,
  explainMissingNext,
  refuseMap,
  warnMissingResult,
  warnOfReturned,
} from './advice/hook-advice.ts'
import type { WithServices } from './advice/hook-check.ts'
import { checkAllHooks } from './advice/hook-check.ts'
import {
  adviseListeners,
  describeInput,
  hintAtService,
  listSingletonMethods,
  readServiceExtensions,
} from './advice/service-advice.ts'
import { refuseConfigurator } from './options/configurator.ts'
import { suggestMethod, suggestName } from './options/name-suggestion.ts'
import { checkOptions } from './options/option-check.ts'
import type { ServiceSupport } from './services/method-entry.ts'
import { readPackageHooks } from './services/package-hooks.ts'
import type { InputDescription } from './services/service-input.ts'

/** What only servers need of an application: what tells authors of mistakes, and what reads their code. */
export interface ServerSupport extends ServiceSupport {
  /** Says what a value is that stands where a service is meant, and where it belongs. */
  readonly describeInput: InputDescription
  /** Says what a value is that `app.configure()` does not take. */
  refuseConfigurator(value: unknown): never
  /** Returns options for the error of a path without a service: which one may be meant. */
  hintAtService(path: string, paths: Iterable<string>): ErrorOptions
  /** Called when all services are set up. Throws where a hook can never do what it is for. */
  checkHooks(app: WithServices): void
}

/** What applications of `createApp()` have. Clients do without it: browsers would have to load it. */
export const SERVER_SUPPORT: ServerSupport = {
  adviseListeners,
  checkHooks: checkAllHooks,
  checkOptions,
  readServiceExtensions,
  describeHook,
  describeInput,
  explainError: explainMissingNext,
  hintAtService,
  listSingletonMethods,
  readPackageHooks,
  refuseConfigurator,
  refuseMap,
  suggestMethod,
  suggestName,
  warnOfResult: warnMissingResult,
  warnOfReturned,
}
