import type { Params } from './params.ts'
import { isPlainObject } from './value-kind.ts'

/**
 * The key under which params carry the facts of their call. It is never enumerable: a spread of params would
 * otherwise pass the facts to another call.
 */
export const TRANSPORT_FACTS: unique symbol = Symbol('remex.transportFacts')

/**
 * The key under which params carry the rules that hooks set for the records of a call. It is enumerable, so
 * that copies of params keep it. External callers cannot send a symbol.
 */
export const CALL_RULES: unique symbol = Symbol('remex.callRules')

/**
 * The key under which params say that the server repeats a call for an open stream. It is enumerable, as
 * {@link CALL_RULES} is.
 */
export const REPEATED: unique symbol = Symbol('remex.repeated')

/** Whether the server repeats a call for an open stream, without a request of the caller. */
export function isRepeated(params: Params): boolean {
  return (params as TransportParams)[REPEATED] === true
}

/**
 * The key under which params say that the response is a stream of events. It is enumerable, like
 * {@link CALL_RULES}.
 */
export const EVENT_STREAM: unique symbol = Symbol('remex.eventStream')

/** Whether the response to a call is a stream of events, which lasts longer than the call. */
export function isEventStream(params: Params): boolean {
  return (params as TransportParams)[EVENT_STREAM] === true
}

/** What a transport knows about one call. */
export interface TransportFacts {
  /**
   * Copies the facts to params that a hook set in place of the original ones. Login limits and the log need
   * them. An object with other headers is not a copy: many calls may share it.
   */
  carry(from: Params, to: Params): void
  /** Frees what only a running call needs. A stream calls it between its calls of `find`: it may last for days. */
  release(): void
  /** How many database calls the call has made so far. */
  databaseCalls: number
}

/** The record rules that hooks have set for a call. */
export interface CarriedRules {
  /** Returns params with these rules: the given ones, or a copy if they cannot be extended. */
  carry<P extends TransportParams>(to: P): P
}

/** Params that carry the facts of their call. */
export interface TransportParams extends Params {
  readonly [TRANSPORT_FACTS]?: TransportFacts | undefined
  [CALL_RULES]?: CarriedRules | undefined
  [REPEATED]?: true
  [EVENT_STREAM]?: true
}

/**
 * Gives new params of a call the facts of its transport and the record rules that hooks have set, both from the
 * params that they replace. Returns the new params, or a copy with the rules if they cannot be extended.
 */
export function carryFacts<P extends TransportParams>(from: TransportParams, to: P): P {
  const params = from[CALL_RULES]?.carry(to) ?? to
  from[TRANSPORT_FACTS]?.carry(from, params)
  return params
}

/**
 * Changes the params of a call. Params of a transport are changed in place; those of an internal caller are
 * not ours to change, and are replaced by a copy. The copy has their symbols, but no facts of a transport,
 * which such params do not have.
 */
export function changeParams<P extends object>(context: { params: object }, changes: P): void {
  if (isPlainObject(context.params)) context.params = { ...context.params, ...changes }
  else Object.assign(context.params, changes)
}
