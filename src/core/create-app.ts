import { Application } from './app.ts'
import { SERVER_SUPPORT } from './server-support.ts'
import type { AnyServices } from './services/service-map.ts'

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
