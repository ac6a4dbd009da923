import type { HookApplication, HookContext } from '../hooks/hook-context.ts'
import type { AnyHookMap, HookMap } from '../hooks/hook-map.ts'
import type { EventData, MethodName } from '../method-arguments.ts'
import type { Id, IdObject, Params } from '../params.ts'
import type { ServiceOptions } from './service-options.ts'

/** The standard methods, with ids of a type and any data. */
interface UntypedMethods<I> {
  /** Resolves to the records that match `params.query`, or one page of them. */
  find(params?: Params): Promise<unknown>
  /** Resolves to one record. */
  get(id: I, params?: Params): Promise<unknown>
  /** Adds one or several records. Resolves to what was added. */
  create(data: unknown, params?: Params): Promise<unknown>
  /** Replaces a record. Resolves to the new one. */
  update(id: I | null, data: unknown, params?: Params): Promise<unknown>
  /** Changes fields of a record, or of many. Resolves to what was changed. */
  patch(id: I | null, data: unknown, params?: Params): Promise<unknown>
  /** Removes a record, or many. Resolves to what was removed. */
  remove(id: I | null, params?: Params): Promise<unknown>
  [method: string]: UnknownMethod
}

/** A service of unknown type: the standard methods, and any other method. */
export interface AnyService extends UntypedMethods<Id | IdObject> {}

// Taken from a method, because method parameters are compared bivariantly: those of `find` would not match
// `unknown[]` otherwise.
type UnknownMethod = { call(...args: unknown[]): Promise<unknown> }['call']

/** The services of an application created without a type: any path. */
export type AnyServices = Record<string, AnyService>

declare const SERVED: unique symbol

/**
 * What `Served` of `remex/schema` adds to the type of a service: the options that it is registered with,
 * the service as external callers know it, and what is registered, if that differs from what calls within the
 * process see. Never set: only the compiler reads it.
 */
export interface Serving<Options, Outside, Input = unknown> {
  /** The three types. */
  readonly [SERVED]?: {
    readonly options: Options
    readonly outside: Outside
    readonly input: Input
  }
}

/** One of the types of {@link Serving}. A service of unknown type has any member. */
type ServedPart<S, Part extends 'options' | 'outside' | 'input', Otherwise> = string extends keyof S
  ? Otherwise
  : typeof SERVED extends keyof S
    ? NonNullable<S[typeof SERVED]> extends { readonly [Name in Part]: infer Type }
      ? Type
      : never
    : Otherwise

/** The options that the map names for a service; `never` where it names none. */
export type ServedOptions<S> = ServedPart<S, 'options', never>

/** A service as external callers know it: all of it, unless the map says otherwise. */
export type OutsideOf<S> = ServedPart<S, 'outside', S>

/**
 * Options of exactly the type that the map names for a service. Otherwise any assignable options would be
 * accepted, such as those whose result has more fields.
 */
export type Named<S, Options> = Options &
  ([Options, ServedOptions<S>] extends [ServedOptions<S>, Options]
    ? unknown
    : 'these are other options than those that the map of services names')

/** `T` for a path whose options the map does not name, else an error message. */
export type Unserved<S, T> = [ServedOptions<S>] extends [never]
  ? T
  : 'the options are missing that the map of services names for this path'

/** An application mounted at a path, which may also be the path of a service. */
export type Mounted<Services, Path, App> = Path extends keyof Services
  ? Unserved<Services[Path], App>
  : App

/** The options of `app.use()`: those that the map names, else any. */
export type OptionsInput<S, Options> = [ServedOptions<S>] extends [never]
  ? [options?: ServiceOptions<MethodName<S>>]
  : [options: Named<S, Options>]

/**
 * What `app.use()` takes for a path: the declared service, any object where none is declared. The member next
 * to `object` types the arguments of methods in an object literal: over HTTP, an id is a string.
 */
export type ServiceInput<S> = AnyService extends S
  ? object | Partial<UntypedMethods<Id>>
  : unknown extends ServedPart<S, 'input', unknown>
    ? S
    : ServedPart<S, 'input', unknown>

/** A service with its hooks and events: what `app.service(path)` returns. */
export type RegisteredService<S, A> = S & ServiceAddons<S, A> & ServiceMembers<S>

/** The {@link RegisteredService} at a path: editors show its place in the map instead of its parts. */
export type ServiceAt<Services, Path extends keyof Services, A> = Services[Path] &
  ServiceAddons<HookedService<Services, Path>, A> &
  ServiceMembers<Services[Path]>

/** The service of a context. With options, which editors would show, it also has a type for its place. */
type HookedService<Services, Path extends keyof Services> = [
  ServedOptions<Services[Path]>,
] extends [never]
  ? Services[Path]
  : ServedAt<Services, Path>

type ServedAt<Services, Path extends keyof Services> = Services[Path] & object

/** Members that other entries of the package add to services: `publish` by `remex/realtime`. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by who adds something
// biome-ignore lint/correctness/noUnusedVariables: the parameter has to be that of the others
export interface ServiceMembers<S> {}

/** What every registered service has in addition to its own methods. */
export interface ServiceAddons<S, A = HookApplication> {
  /** Adds hooks; repeated calls append. */
  hooks<Map = AnyHookMap<S, A>>(options: HookMap<Map, S, A>): this
  /** Adds a listener after the others of an event. */
  on<E extends string>(event: E, listener: EventListener<S, E, A>): this
  /** Adds a listener that is called only for the next event. */
  once<E extends string>(event: E, listener: EventListener<S, E, A>): this
  /** Removes a listener; if it was added several times, the latest one. */
  off<E extends string>(event: E, listener: EventListener<S, E, A>): this
  /** The same as {@link on}. */
  addListener<E extends string>(event: E, listener: EventListener<S, E, A>): this
  /** The same as {@link off}. */
  removeListener<E extends string>(event: E, listener: EventListener<S, E, A>): this
  /** Removes the listeners of an event, or of all events. */
  removeAllListeners(event?: string): this
  /** Calls the listeners in their order. Returns whether there was one. */
  emit(event: string, ...values: unknown[]): boolean
  /** Returns how many listeners an event has. */
  listenerCount(event: string): number
}

/** Called with the record that was written and the context of the call. */
export type EventListener<S, E, A = HookApplication> = (
  data: EventData<S, E>,
  context: HookContext<S, string, A>,
) => unknown
