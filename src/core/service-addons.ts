import type { HookApplication, HookContext } from './hook-context.ts'
import type { HookOptions } from './hook-registry.ts'
import type { EventData } from './method-arguments.ts'

/** What every registered service has beside its own methods. */
export interface ServiceAddons<S, A = HookApplication> {
  /** Adds hooks; repeated calls append. */
  hooks(options: HookOptions<S, A>): this
  on<E extends string>(event: E, listener: EventListener<S, E, A>): this
  once<E extends string>(event: E, listener: EventListener<S, E, A>): this
  off<E extends string>(event: E, listener: EventListener<S, E, A>): this
  addListener<E extends string>(event: E, listener: EventListener<S, E, A>): this
  removeListener<E extends string>(event: E, listener: EventListener<S, E, A>): this
  removeAllListeners(event?: string): this
  emit(event: string, ...values: unknown[]): boolean
  listenerCount(event: string): number
}

/** Called with the record that was written and the context of the call. */
export type EventListener<S, E, A = HookApplication> = (
  data: EventData<S, E>,
  context: HookContext<S, string, A>,
) => unknown
