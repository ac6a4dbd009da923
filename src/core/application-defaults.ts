import type { Application } from './app.ts'
import { HookContext as HookContextClass } from './hooks/hook-context.ts'
import type * as forms from './hooks/hook-map.ts'
import type {
  HookOptions as MapOptions,
  Stated,
  StatedApplicationHookMap,
} from './hooks/hook-map.ts'
import type { MethodName } from './method-arguments.ts'
import type * as methods from './services/method-entry.ts'
import type * as entries from './services/service-entry.ts'
import {
  findServiceEntry as findEntry,
  ServiceEntry as ServiceEntryClass,
} from './services/service-entry.ts'
import type * as addons from './services/service-map.ts'
import type { AnyService } from './services/service-map.ts'

// Inside the core, hooks and services only know the part of the application that they need, so that no lower
// file imports `app.ts`. Users get these names with the full application type.

/** Runs before, after or on an error. A returned copy of the context is assigned onto it. */
export type Hook<S = object, M extends string = string, A = Application> = forms.Hook<S, M, A>

/** Runs around the rest of the call, which `next` starts; await it to see the result. */
export type AroundHook<S = object, M extends string = string, A = Application> = forms.AroundHook<
  S,
  M,
  A
>

/** What `service.hooks()` takes: the four kinds, or around hooks in short. */
export type HookOptions<S, A = Application, Name extends string = MethodName<S>> = MapOptions<
  S,
  A,
  Name
>

/** What `app.hooks()` takes: hooks for every service, or hooks around `setup` and `teardown`. */
export type ApplicationHookOptions<A, Name extends string = string> = Stated<AnyService, A> &
  StatedApplicationHookMap<AnyService, A, Name>

/**
 * One call of a service method, as hooks see it. `result` is an own property once it is set:
 * setting it before the method runs skips the method.
 */
export type HookContext<S = object, M extends string = string, A = Application> = HookContextClass<
  S,
  M,
  A
>
/** The class of the contexts, for `instanceof`. */
export const HookContext: typeof HookContextClass = HookContextClass

/** What hooks around `setup` and `teardown` of an application get. */
export type LifecycleContext<A = Application> = forms.LifecycleContext<A>

/** Runs around `setup` or `teardown` of an application. */
export type LifecycleHook<A = Application> = forms.LifecycleHook<A>

/** What every registered service has in addition to its own methods. */
export type ServiceAddons<S, A = Application> = addons.ServiceAddons<S, A>

/** Called with the record that was written and the context of the call. */
export type EventListener<S, E, A = Application> = addons.EventListener<S, E, A>

/** Called with each service that an application gets; see `app.mixins`. */
export type ServiceMixin<A = Application> = entries.ServiceMixin<A>

/** One method of a registered service. */
export type MethodEntry<A = Application> = methods.MethodEntry<A>

/** A service as its application holds it: its methods with their chains, its hooks and events. */
export type ServiceEntry<A = Application> = methods.ServiceEntryFace<A>
/** The class of the entries, for `instanceof`. */
export const ServiceEntry: typeof ServiceEntryClass = ServiceEntryClass

/** Returns the entry of a registered service, `undefined` for any other object. */
export const findServiceEntry: (service: object) => ServiceEntry | undefined = findEntry
