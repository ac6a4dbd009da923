import type { HookApplication, HookContext } from './hook-context.ts'
import type { AnyHookMap, HookMap } from './hook-map.ts'
import type { EventData } from './method-arguments.ts'

/** What every registered service has beside its own methods. */
export interface ServiceAddons<S, A = HookApplication> {
  /** Adds hooks; repeated calls append. */
  hooks<Map = AnyHookMap<S, A>>(options: HookMap<Map, S, A>): this
  /** Adds a listener behind the others of an event. */
  on<E extends string>(event: E, listener: EventListener<S, E, A>): this
  /** Adds a listener that is called for the next event alone. */
  once<E extends string>(event: E, listener: EventListener<S, E, A>): this
  /** Removes a listener; of one that was added several times the latest. */
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
