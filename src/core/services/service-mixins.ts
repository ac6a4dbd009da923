import type { EntryApplication } from './method-entry.ts'
import { findServiceEntry, ServiceEntry } from './service-entry.ts'
import type { ResolvedServiceOptions, ServiceOptions } from './service-options.ts'

/**
 * Called with each service that an application gets, as plug-ins of Feathers are: before the first
 * one of the list, which adds the hooks, the service has its own methods alone. The options have
 * their defaults; the type says less, so that it is that of plug-ins.
 */
export type ServiceMixin<A> = (
  this: A,
  service: object,
  path: string,
  options: ServiceOptions,
) => unknown

/** Returns the mixins that every application has: the one that gives a service hooks and events. */
export function createMixins<A extends EntryApplication>(): ServiceMixin<A>[] {
  return [
    function addHooks(service, path, options) {
      // A service of a mounted application has the hooks of that one.
      if (findServiceEntry(service) !== undefined) return
      new ServiceEntry(this, path, service, options as ResolvedServiceOptions)
    },
  ]
}

/**
 * Runs the mixins of an application with a service and returns its entry. If one of them fails, a
 * new service is left without hooks again.
 * @throws {TypeError} the mixin that adds hooks is gone, or the service lacks a method that
 *   is listed
 */
export function applyMixins<A extends EntryApplication>(
  app: A & { readonly mixins: readonly ServiceMixin<A>[] },
  service: object,
  path: string,
  options: ResolvedServiceOptions,
): ServiceEntry<A> {
  const isNew = findServiceEntry(service) === undefined
  try {
    for (const mixin of app.mixins) mixin.call(app, service, path, options)
  } catch (error) {
    if (isNew) findServiceEntry(service)?.release()
    throw error
  }
  const entry = findServiceEntry<A>(service)
  if (entry === undefined) throw new TypeError('app.mixins lacks the mixin that adds the hooks')
  return entry
}
