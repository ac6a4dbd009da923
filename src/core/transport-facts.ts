import type { Params } from './params.ts'

/**
 * The key under which params carry the facts of their call. It is never enumerable: a spread of the
 * params of one call would give its facts to another one.
 */
export const TRANSPORT_FACTS: unique symbol = Symbol('remex.transportFacts')

/** What a transport knows of one call. */
export interface TransportFacts {
  /**
   * Gives params that a hook has put in place of others the facts of these. Login limits and the log
   * need them. An object with other headers is no copy: many calls may share it.
   */
  carry(from: Params, to: Params): void
  /** How many calls of a database the call has made so far. */
  databaseCalls: number
}

/** Params that carry the facts of their call. */
export interface TransportParams extends Params {
  readonly [TRANSPORT_FACTS]?: TransportFacts | undefined
}

/** Gives a copy of params what the transport knows of the call, where they are those of a transport. */
export function carryFacts(from: TransportParams, to: Params): void {
  from[TRANSPORT_FACTS]?.carry(from, to)
}
