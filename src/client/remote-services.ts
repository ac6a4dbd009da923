import type { FeatureParams } from '../core/core-features.ts'
import type { DataOf, IdOf, MethodName, QueryOf, ResultOf } from '../core/method-arguments.ts'
import type { StandardMethod } from '../core/method-table.ts'
import type { Headers, Page, Query, RecordId } from '../core/params.ts'
import type { FieldName, Selected, Selecting } from '../core/services/record-query.ts'
import type { AnyService, OutsideOf, ServedOptions } from '../core/services/service-map.ts'
import type { ConnectionParams } from './connection.ts'
import type { ReceivedResult, Sendable, SendableQuery } from './received.ts'

/** The custom methods of a service if the map of services lists them: all methods, or only the custom ones. */
type ServedList<S, Otherwise> = [ServedOptions<S>] extends [never]
  ? Otherwise
  : keyof OutsideOf<S> extends StandardMethod
    ? Otherwise
    : WithCustomOnly<ServedOptions<S>['methods' & keyof ServedOptions<S>]>

type WithCustomOnly<List> = List | CustomOnly<List>

/** A list without the standard methods, which every service of a client has anyway. */
type CustomOnly<List> = List extends readonly [infer Name, ...infer Others]
  ? Name extends StandardMethod
    ? CustomOnly<Others>
    : readonly [Name, ...CustomOnly<Others>]
  : readonly []

/**
 * The custom methods that services offer to clients, by path: `{ posts: ['publish'] }`. If the map of services lists
 * them, it must be that list.
 */
export type CustomMethods<Services> = {
  readonly [Path in keyof Services]?: ServedList<
    Services[Path],
    readonly MethodName<Services[Path]>[]
  >
}

/** Appears in the compiler's error if methods are listed without stating the type of the list. */
interface SecondTypeArgumentIsMissing extends ReadonlyArray<never> {
  /** How to state the type of the list. */
  readonly typeArguments: '<Services, typeof methods>'
}

/** Only the custom methods in the map of services; any methods if nothing is known of the services. */
export type NoCustomMethods<Services> = string extends keyof Services
  ? CustomMethods<Services>
  : ListedMethods<Services>

/** The lists of custom methods of a client that states none: those that the map implies. */
export type ListedMethods<Services> = {
  readonly [Path in keyof Services]?: ServedList<Services[Path], SecondTypeArgumentIsMissing>
}

/** The lists that a client must state: the map has their methods as types only. */
export type RequiredMethods<Services> = {
  readonly [Path in keyof Services as ServedList<Services[Path], never> extends never
    ? never
    : Path]: ServedList<Services[Path], never>
}

type ListedName<Methods, Path> = Path extends keyof Methods ? ItemName<Methods[Path]> : never

type ItemName<List> = List extends readonly (infer Name extends string)[] ? Name : never

/** The services of a server as clients see them, with arguments and results as they are sent. */
export type RemoteServices<Services, Methods = NoCustomMethods<Services>> = {
  [Path in keyof Services & string]: AnyService extends Services[Path]
    ? Services[Path]
    : RemoteServiceAt<Services, Path, Methods>
}

/** A service by its place in the map of services. Editors show this name, whatever the type consists of. */
type RemoteServiceAt<Services, Path extends keyof Services & string, Methods> = {
  [M in keyof OutsideOf<Services[Path]> &
    (StandardMethod | ListedName<Methods, Path>)]: RemoteMember<
    OutsideOf<Services[Path]>,
    M,
    WithRoute<RouteName<Path>, RouteName<keyof Services>>
  >
}

/** The names of the placeholders in a path: `'postId'` of `'posts/:postId/comments'`. */
export type RouteName<Path> = Path extends `${infer First}/${infer Rest}`
  ? RouteName<First> | RouteName<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never

/** The last argument of the methods of a remote service. */
export interface ClientParams<Q = Query> extends FeatureParams {
  /** The query, which becomes the query string. */
  query?: Q | undefined
  /** Headers of the request. */
  headers?: Headers | undefined
  /** How the request is sent: a signal, a time limit, options of the HTTP library. */
  connection?: ConnectionParams | undefined
  /** Set by the server only: params of a server's call cannot be passed on unchanged. */
  provider?: undefined
}

/**
 * The values for the placeholders of a path, required if it has any. Names of other paths' placeholders are excluded,
 * because objects in variables may have excess members.
 */
type WithRoute<Name extends string, Other extends string> = [Name] extends [never]
  ? { readonly route?: undefined }
  : {
      readonly route: Readonly<Record<Name, string>> & {
        readonly [None in Exclude<Other, Name>]?: never
      }
    }

/** Params are the last argument, optional if none of them is required. */
type ParamsArgument<P> = object extends P ? [params?: P] : [params: P]

type AnyList = readonly unknown[]

type Item<R> = R extends Page<infer T> | readonly (infer T)[] ? T : R

/** A result with the selected fields: of a record, or of each record of a page or a list. */
type SelectedOf<R, Name extends string> =
  R extends Page<infer T>
    ? Page<SelectedRecord<T, Name>>
    : R extends readonly (infer T)[]
      ? SelectedRecord<T, Name>[]
      : SelectedRecord<R, Name>

type SelectedRecord<T, Name extends string> = Selected<T, Name & keyof T>

/** The arguments of `find` of a remote service. */
export type FindArguments<S> = S extends { find(...values: infer Values): unknown }
  ? Values
  : [params?: ClientParams]

/** A record of a remote service, as `find` returns it on a page or in a list. */
export type FoundRecord<S> = S extends { find(...values: never): Promise<infer R> }
  ? Item<R>
  : unknown

/** The part of a result for one record, or for many; all of it if they cannot be told apart. */
type One<R> = [Exclude<R, AnyList>] extends [never] ? R : Exclude<R, AnyList>
type Many<R> = [Extract<R, AnyList>] extends [never] ? R : Extract<R, AnyList>

/**
 * A query without `$select`, for overloads that declare their own: with both, the compiler would compare lists with
 * lists, for each service and each call.
 */
type Unselected<Q> = { [Name in keyof Q as Exclude<Name, '$select'>]: Q[Name] }

/** Whether a query is known to select fields; an untyped one is not. */
type Selects<Q> = string extends keyof Q ? false : '$select' extends keyof Q ? true : false

type SelectingParams<Q, Route, Name extends string> = ClientParams<Unselected<Q>> &
  Route &
  Selecting<Name>

/** A `find` whose result has only the fields that the query selects. */
export interface RemoteFind<R, Q, Route> {
  <Name extends FieldName<Item<R>>>(
    params: SelectingParams<Q, Route, Name>,
  ): Promise<SelectedOf<R, Name>>
  (...params: ParamsArgument<ClientParams<Q> & Route>): Promise<R>
}

/** A `get` whose result has only the fields that the query selects. */
export interface RemoteGet<R, Q, Route> {
  <Name extends FieldName<R>>(
    id: RecordId,
    params: SelectingParams<Q, Route, Name>,
  ): Promise<SelectedOf<R, Name>>
  (id: RecordId, ...params: ParamsArgument<ClientParams<Q> & Route>): Promise<R>
}

/** A `create` of one record or of a list. */
export interface RemoteCreate<D, R, P> {
  (data: One<D>, ...params: ParamsArgument<P>): Promise<One<R>>
  (data: One<D>[], ...params: ParamsArgument<P>): Promise<One<R>[]>
  (data: D, ...params: ParamsArgument<P>): Promise<R>
}

/** An `update` or `patch` of one record, or of many by the id `null`. */
export interface RemoteChange<D, R, P> {
  (id: null, data: D, ...params: ParamsArgument<P>): Promise<Many<R>>
  (id: RecordId, data: D, ...params: ParamsArgument<P>): Promise<One<R>>
  (id: RecordId | null, data: D, ...params: ParamsArgument<P>): Promise<R>
}

/** A `remove` of one record, or of many by the id `null`. */
export interface RemoteRemove<R, P> {
  (id: null, ...params: ParamsArgument<P>): Promise<Many<R>>
  (id: RecordId, ...params: ParamsArgument<P>): Promise<One<R>>
  (id: RecordId | null, ...params: ParamsArgument<P>): Promise<R>
}

type Change<S, M, D, R, P> =
  null extends IdOf<S, M>
    ? RemoteChange<D, R, P>
    : (id: RecordId, data: D, ...params: ParamsArgument<P>) => Promise<R>

/** The standard methods by name, for a result `R`, data `D`, a query `Q` and params `P`. */
interface RemoteMethods<S, M extends string, R, D, Q, Route, P> {
  find: Selects<Q> extends true
    ? RemoteFind<R, Q, Route>
    : (...params: ParamsArgument<P>) => Promise<R>
  get: Selects<Q> extends true
    ? RemoteGet<R, Q, Route>
    : (id: RecordId, ...params: ParamsArgument<P>) => Promise<R>
  create: [Extract<D, AnyList>] extends [never]
    ? (data: D, ...params: ParamsArgument<P>) => Promise<R>
    : RemoteCreate<D, R, P>
  update: Change<S, M, D, R, P>
  patch: Change<S, M, D, R, P>
  remove: null extends IdOf<S, M>
    ? RemoteRemove<R, P>
    : (id: RecordId, ...params: ParamsArgument<P>) => Promise<R>
}

type RemoteMethod<S, M extends StandardMethod, Q, Route> = RemoteMethods<
  S,
  M,
  ReceivedResult<ResultOf<S, M>>,
  Sendable<DataOf<S, M>>,
  Q,
  Route,
  ClientParams<Q> & Route
>[M]

/** Data is optional if the method takes none. */
type CustomArguments<D, P> = undefined extends D
  ? object extends P
    ? [data?: D, params?: P]
    : [data: D, params: P]
  : [data: D, ...params: ParamsArgument<P>]

type RemoteCustomMethod<S, M, Route> = (
  ...values: CustomArguments<
    Sendable<DataOf<S, M>>,
    ClientParams<SendableQuery<QueryOf<S, M>>> & Route
  >
) => Promise<ReceivedResult<ResultOf<S, M>>>

/**
 * A service `S` of a server as clients see it: its standard methods and the named custom ones, with arguments and
 * results as they are sent.
 */
export type RemoteServiceOf<
  S,
  Path extends string = string,
  Custom extends string = never,
> = AnyService extends S
  ? S
  : {
      [M in keyof S & (StandardMethod | Custom)]: RemoteMember<
        S,
        M,
        WithRoute<RouteName<Path>, never>
      >
    }

type RemoteMember<S, M extends string, Route> = M extends StandardMethod
  ? RemoteMethod<S, M, SendableQuery<QueryOf<S, M>>, Route>
  : RemoteCustomMethod<S, M, Route>
