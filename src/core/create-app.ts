import { Application as ApplicationBase } from './app.ts'
import type { ServerSupport } from './server-support.ts'
import { SERVER_SUPPORT } from './server-support.ts'
import { ServiceLifecycle } from './services/lifecycle.ts'
import type { AnyServices } from './services/service-map.ts'

/** The registry of named services, with settings, hooks for all of them and events of its own. */
export type Application<
  Services = AnyServices,
  Settings = Record<string, unknown>,
> = ApplicationBase<Services, Settings>
/** The class of the applications that set their services up: all but clients. */
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
