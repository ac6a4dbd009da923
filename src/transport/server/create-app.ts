import type { AnyServices, Application } from '../../core/index.ts'
import { createApp as createCoreApp } from '../../core/index.ts'
import { attachSchemas } from '../../core/schema/service/lazy-schemas.ts'

/**
 * Returns a new application. `Services` maps each path to its service and types everything else:
 * `createApp<{ users: UserService }>().service('users').get(id)`. Its services may have schemas.
 */
export function createApp<
  Services = AnyServices,
  Settings = Record<string, unknown>,
>(): Application<Services, Settings> {
  const app = createCoreApp<Services, Settings>()
  app.schemaSupport = attachSchemas
  return app
}
