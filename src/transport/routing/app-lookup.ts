import type { FastifyInstance } from 'fastify'
import type { Application } from '../../core/index.ts'
import { getRouting } from './request-path.ts'
import { isPathTarget } from './request-target.ts'
import { ID_PLACEHOLDER, ServiceRouter } from './service-router.ts'

/** What a path addresses: a service, and the values of its placeholders. */
export interface ServiceLookup {
  /** The service as callers hold it, with hooks and events. */
  readonly service: object
  /** The route values, and the id as `__id` where the path ends in one. */
  readonly params: Readonly<Record<string, string>>
}

/** Returns the function behind `app.lookup()`: it finds services as requests do. */
export function createLookup(
  app: Application,
  server: FastifyInstance,
): (path: string) => ServiceLookup | null {
  // Created at the first look-up: few applications need it.
  let router: ServiceRouter | null = null
  app.observe(() => {
    router = null
  })
  return (path: unknown) => {
    if (typeof path !== 'string') return null
    router ??= new ServiceRouter(app, getRouting(server))
    // As services are registered, a path may come without its first slash.
    const match = router.find(isPathTarget(path) ? path : `/${path}`)
    if (match === null) return null
    const { entry, id, route } = match
    return {
      service: entry.service,
      params: id === null ? route : { ...route, [ID_PLACEHOLDER]: id },
    }
  }
}
