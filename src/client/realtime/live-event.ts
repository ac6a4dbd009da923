import type { Page } from '../../core/params.ts'

/** The record type of a result of `find`: of a page, of a list, or the result itself. */
export type RecordOf<Result> = Result extends Page<infer Item> | readonly (infer Item)[]
  ? Item
  : Result

/** A union with an event for each of these names, which the compiler narrows by `type`. */
type Named<Name, Data> = Name extends string ? { readonly type: Name; readonly data: Data } : never

/**
 * An event of a subscription whose `find` resolves to `Result`. `left` has only the id of a record that no longer
 * matches the query. After a `resync` a new `snapshot` follows: something may have been missed. The second argument
 * lists the custom events of the service.
 */
export type LiveEvent<Result = unknown, Own extends string = never> =
  | Named<'snapshot', Result>
  | Named<'created' | 'updated' | 'patched', RecordOf<Result>>
  | Named<'removed' | 'left', Partial<RecordOf<Result>>>
  | Named<'resync', object>
  | Named<Own, unknown>

/** An event as it arrives. */
export interface ReceivedEvent {
  readonly type: string
  readonly data: unknown
}

/** Params of a subscription: those of `find`, and a signal that ends it. */
export interface SubscriptionParams extends Readonly<Record<string, unknown>> {
  /** Ends the subscription, as that of `connection` does. */
  readonly signal?: AbortSignal | undefined
}

/** Whether a connection is being made, is open, waits for another attempt, or has ended. */
export type LiveStatus = 'connecting' | 'open' | 'waiting' | 'closed'
