import type { Page } from '../../core/params.ts'

/** The record of what `find` resolves to: of a page, of a list, or the result itself. */
export type RecordOf<Result> = Result extends Page<infer Item> | readonly (infer Item)[]
  ? Item
  : Result

/** An event of a service that is none of the standard ones; nothing is known of its data. */
type OwnEvent<Name> = Name extends string ? { readonly type: Name; readonly data: unknown } : never

/**
 * What a subscriber is told, for a `find` that resolves to `Result`. `left` has the id alone, of a
 * record that no longer matches the query. After a `resync` a new `snapshot` follows: something may
 * have been missed. The names of a service's own events are the second argument.
 */
export type LiveEvent<Result = unknown, Own extends string = never> =
  | { readonly type: 'snapshot'; readonly data: Result }
  | { readonly type: 'created' | 'updated' | 'patched'; readonly data: RecordOf<Result> }
  | { readonly type: 'removed' | 'left'; readonly data: Partial<RecordOf<Result>> }
  | { readonly type: 'resync'; readonly data: object }
  | OwnEvent<Own>

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

/** Whether a connection is being made, is there, is to be tried again, or has ended. */
export type LiveStatus = 'connecting' | 'open' | 'waiting' | 'closed'
