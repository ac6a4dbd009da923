import {
  checkHooks,
  describeHook,
  refuseMap,
  warnMissingResult,
  warnOfReturned,
} from './advice/hook-advice.ts'
import { createMissingError, describeInput, readServerOptions } from './advice/service-advice.ts'
import { Application as ApplicationBase } from './app.ts'
import { refuseConfigurator } from './options/configurator.ts'
import { suggestMethod, suggestName } from './options/name-suggestion.ts'
import { ServiceLifecycle } from './services/lifecycle.ts'
import type { ServerSupport } from './services/method-entry.ts'
import { readPackageHooks } from './services/package-hooks.ts'
import type { AnyServices } from './services/service-map.ts'
import { requireSupport, toOwner } from './services/service-options.ts'

/** Support for applications of `createApp()`. Clients do not have it, so that browsers do not load it. */
export const SERVER_SUPPORT: ServerSupport = {
  // Applications of `remex` support schemas, which need Ajv.
  attachSchemas: ({ path }) =>
    requireSupport<never>(undefined, `${toOwner(path)}: the option 'schemas'`),
  checkHooks,
  createMissingError,
  describeHook,
  describeInput,
  readOptions: readServerOptions,
  readPackageHooks,
  refuseConfigurator,
  refuseMap,
  suggestMethod,
  suggestName,
  warnOfResult: warnMissingResult,
  warnOfReturned,
}

/** The registry of named services, with settings, application hooks and its own events. */
export type Application<
  Services = AnyServices,
  Settings = Record<string, unknown>,
> = ApplicationBase<Services, Settings>
/** The class of applications that set up their services: all except clients. */
export const Application: typeof ApplicationBase = class<
  Services,
  Settings,
> extends ApplicationBase<Services, Settings> {
  /** Written out, because bundlers rename classes. */
  static override readonly name: string = 'Application'

  constructor(support?: ServerSupport) {
    super(support, (app) => new ServiceLifecycle(app))
  }
}

/**
 * Returns a new application. `Services` maps each path to its service and types everything else:
 * `createApp<{ users: UserService }>().service('users').get(id)`.
 */
export function createApp<
  Services = AnyServices,
  Settings = Record<string, unknown>,
>(): Application<Services, Settings> {
  return new Application<Services, Settings>(SERVER_SUPPORT)
}
