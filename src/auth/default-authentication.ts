import type { Application } from '../core/index.ts'
import { toServicePath } from '../core/index.ts'
import type { Authentication } from './authentication.ts'

/** The key of the setting that names the configuration of the default authentication service. */
export const DEFAULT_SETTING = 'defaultAuthentication'

/** An application that an authentication service was created for. */
export interface WithAuthentication {
  /** @see findAuthentication */
  defaultAuthentication(path?: string): Authentication | null
}

/** The key under which an application keeps the result of {@link authenticationServices}. */
const SERVICES = Symbol('authentication services')

/**
 * Returns the authentication service at a path. Without a path, returns the one whose configuration the setting
 * `defaultAuthentication` names, `null` if there is none. The lookup is cheap enough for every request.
 * @throws {NotFound} there is no service at the path
 */
export function findAuthentication(app: Application, path?: string): Authentication | null {
  if (path !== undefined) return app.service(path) as unknown as Authentication
  const services = authenticationServices(app)
  if (services.size === 0) return null
  const key = app.get(DEFAULT_SETTING) ?? 'authentication'
  return services.get(String(key)) ?? null
}

/** Like {@link findAuthentication}, but returns `null` if there is no service at the path. */
export function seekAuthentication(app: Application, path?: string): Authentication | null {
  const isThere = path === undefined || app.entries.has(toServicePath(path))
  return isThere ? findAuthentication(app, path) : null
}

/**
 * Returns the authentication services of an application by the key of their settings, the first of each. The map is
 * updated when services are added or removed, so that requests need not search.
 */
export function authenticationServices(app: Application): ReadonlyMap<string, Authentication> {
  const { [SERVICES]: known } = app as { [SERVICES]?: ReadonlyMap<string, Authentication> }
  if (known !== undefined) return known
  const services = new Map<string, Authentication>()
  const list = (): void => {
    services.clear()
    for (const { service } of app.entries.values()) {
      if (!isAuthentication(service) || services.has(service.configKey)) continue
      services.set(service.configKey, service)
    }
  }
  Object.defineProperty(app, SERVICES, { value: services })
  list()
  app.observe((_change, _path, { service }) => {
    if (isAuthentication(service)) list()
  })
  return services
}

/** Adds the method `defaultAuthentication` to the application, unless it has one. */
export function installDefaultAuthentication(app: Application): void {
  if ('defaultAuthentication' in app) return
  const value: WithAuthentication['defaultAuthentication'] = (path) => findAuthentication(app, path)
  Object.defineProperty(app, 'defaultAuthentication', { value, configurable: true, writable: true })
}

/** Returns whether a service logs users in. */
export function isAuthentication(service: object): service is Authentication {
  const { configKey, authenticate } = service as Partial<Authentication>
  return typeof configKey === 'string' && typeof authenticate === 'function'
}
