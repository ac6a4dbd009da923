import type { Id, IdObject, Params } from './params.ts'
import type { ServiceAddons } from './service-addons.ts'

/** The standard methods, with ids of a type and data of any. */
interface UntypedMethods<I> {
  /** Resolves to the records that match `params.query`, or one page of them. */
  find(params?: Params): Promise<unknown>
  /** Resolves to one record. */
  get(id: I, params?: Params): Promise<unknown>
  /** Adds a record, or several. Resolves to what was added. */
  create(data: unknown, params?: Params): Promise<unknown>
  /** Replaces a record. Resolves to the new one. */
  update(id: I | null, data: unknown, params?: Params): Promise<unknown>
  /** Changes fields of a record, or of many. Resolves to what was changed. */
  patch(id: I | null, data: unknown, params?: Params): Promise<unknown>
  /** Removes a record, or many. Resolves to what was removed. */
  remove(id: I | null, params?: Params): Promise<unknown>
  [method: string]: UnknownMethod
}

/** A service of which no type is known: the standard methods, and whatever else is called. */
export interface AnyService extends UntypedMethods<Id | IdObject> {}

// Taken from a method, because parameters of methods are compared in both directions: those of
// `find` would not match `unknown[]` otherwise.
type UnknownMethod = { call(...args: unknown[]): Promise<unknown> }['call']

/** The services of an application that was created without a type: any path, nothing known. */
export type AnyServices = Record<string, AnyService>

/**
 * What `app.use()` takes for a path: the declared service, any object where none is declared. What
 * stands beside `object` types the arguments of methods in an object literal: over HTTP, an id is a
 * string.
 */
export type ServiceInput<S> = AnyService extends S ? object | Partial<UntypedMethods<Id>> : S

/** A service with its hooks and events: what `app.service(path)` returns. */
export type RegisteredService<S, A> = S & ServiceAddons<S, A>
