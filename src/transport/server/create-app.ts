import type { AnyServices } from '../../core/index.ts'
import { Application } from '../../core/index.ts'
import { attachSchemas } from '../../core/schema/service/lazy-schemas.ts'
import { SERVER_SUPPORT } from '../../core/server-support.ts'
import { holdTickObject } from './tick-object.ts'

/**
 * Returns a new application. `Services` maps each path to its service and types everything else:
 * `createApp<{ users: UserService }>().service('users').get(id)`. Its services may have schemas.
 */
export function createApp<
  Services = AnyServices,
  Settings = Record<string, unknown>,
>(): Application<Services, Settings> {
  holdTickObject()
  return new Application<Services, Settings>({ ...SERVER_SUPPORT, attachSchemas })
}
