import type { IdentifiedRecord, IdObject, NullableId, Params, Query } from './params.ts'

/**
 * The last three overloads of a method; for a function with fewer, the first one is repeated. Earlier
 * overloads are for unusual calls, whose results are not records. Arguments are inferred one by one:
 * inferring argument lists creates an array type each, which takes the compiler several times as long.
 */
type Overloads<F> = F extends {
  (first: infer A1, second: infer B1, third: infer C1): infer R1
  (first: infer A2, second: infer B2, third: infer C2): infer R2
  (first: infer A3, second: infer B3, third: infer C3): infer R3
}
  ? {
      0: A1 | A2 | A3
      1: B1 | B2 | B3
      2: C1 | C2 | C3
      last: { 0: A3; 1: B3; 2: C3; result: Awaited<R3> }
      result: Awaited<R1 | R2 | R3>
    }
  : never

type Method<S, M> = M extends keyof S ? Overloads<NonNullable<S[M]>> : never

/** The argument at a position, `unknown` where the method takes fewer. */
type ArgumentAt<S, M, Index extends 0 | 1 | 2> = Method<S, M>[Index]

type ParamsIndex<M> = M extends 'find' ? 0 : M extends 'update' | 'patch' ? 2 : 1

/** The id that a method takes; `undefined` for methods without one. */
export type IdOf<S, M> = string extends M
  ? NullableId | IdObject | undefined
  : M extends 'get' | 'update' | 'patch' | 'remove'
    ? Exclude<ArgumentAt<S, M, 0>, IdentifiedRecord>
    : undefined

declare const MULTI: unique symbol

/** A service whose type knows its option `multi`. */
export interface WithMulti<Multi> {
  /** Never set: only the compiler reads it. */
  readonly [MULTI]?: Multi
}

/**
 * What a method takes or returns, without lists if the option `multi` is known to reject them in `create`.
 */
type ByMulti<S, T> =
  S extends WithMulti<infer Multi>
    ? true extends Multi
      ? T
      : 'create' extends ListItem<Multi>
        ? T
        : Exclude<T, AnyList>
    : T

type ListItem<List> = List extends readonly (infer Item)[] ? Item : never

/** The data that a method takes; `undefined` for `find`, `get` and `remove`. */
export type DataOf<S, M> = string extends M
  ? unknown
  : M extends 'find' | 'get' | 'remove'
    ? undefined
    : M extends 'create'
      ? ByMulti<S, ArgumentAt<S, M, 0>>
      : ArgumentAt<S, M, M extends 'update' | 'patch' ? 1 : 0>

type AnyList = readonly unknown[]

type Fields = Record<string, unknown>

/**
 * Data with fields of any name added. Not for data that declares no name, such as update operators: with such
 * fields it would also fit wrong data.
 */
type WithFields<D> = Record<never, never> extends Record<keyof D, unknown> ? never : D & Fields

/** Data as hooks may change it: with fields of any name added. */
export type NewData<D> =
  | D
  | (D extends readonly (infer Item extends object)[] ? (Item & Fields)[] : WithFields<D>)

/**
 * The params that a method takes, never `undefined` in a hook; {@link Params} where it takes none. Taken from
 * the last overload: others are for special params, such as `{ paginate: false }`.
 */
export type ParamsOf<S, M> = string extends M
  ? Params
  : M extends unknown
    ? [Method<S, M>['last'][ParamsIndex<M>]] extends [infer P]
      ? unknown extends P
        ? Params
        : [NonNullable<P>] extends [never]
          ? Params
          : NonNullable<P>
      : never
    : never

/** The query that a method takes. */
export type QueryOf<S, M> = ParamsOf<S, M> extends { query?: infer Q } ? NonNullable<Q> : Query

/**
 * What a method resolves to. For reads, taken from the last overload: others are for special params, such as
 * `paginate: false`.
 */
export type ResultOf<S, M> = M extends keyof S
  ? M extends 'find' | 'get'
    ? Method<S, M>['last']['result']
    : M extends 'create'
      ? ByMulti<S, Method<S, M>['result']>
      : Method<S, M>['result']
  : unknown

type EventMethod = { created: 'create'; updated: 'update'; patched: 'patch'; removed: 'remove' }

type ItemOf<T> = T extends readonly (infer Item)[] ? Item : T

/** The first argument of an event's listeners: one record, even if many were written. */
export type EventData<S, E> = E extends keyof EventMethod
  ? ItemOf<ResultOf<S, EventMethod[E]>>
  : unknown

/**
 * Names of the members that every registered service gets. They are the keys of `ServiceAddons`, whose hooks
 * are typed by {@link MethodName}; so it cannot be used here.
 */
export type AddonName =
  | 'hooks'
  | 'on'
  | 'once'
  | 'off'
  | 'addListener'
  | 'removeListener'
  | 'removeAllListeners'
  | 'emit'
  | 'listenerCount'

/** Members of a service that are not methods for callers. */
type ReservedName = AddonName | 'setup' | 'teardown' | 'publish' | `_${string}`

// `any` for the arguments: every function must match, whatever it takes.
// biome-ignore lint/suspicious/noExplicitAny: a generic constraint
type AnyFunction = (...args: any[]) => unknown

/** Names of the methods of a service that hooks can run around. */
export type MethodName<S> = {
  [K in keyof S & string]-?: NonNullable<S[K]> extends AnyFunction
    ? K extends ReservedName
      ? never
      : K
    : never
}[keyof S & string]

/** Names of the methods of all services together. */
export type MethodNames<Services> = {
  [Path in keyof Services & string]: MethodName<Services[Path]>
}[keyof Services & string]
