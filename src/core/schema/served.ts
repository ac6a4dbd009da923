import type { Static } from 'typebox'
import type { DataOf, IdOf, MethodName, QueryOf, ResultOf } from '../method-arguments.ts'
import type { StandardMethod } from '../method-table.ts'
import type { Page, Params } from '../params.ts'
import type { Serving } from '../services/service-map.ts'
import type { ServiceOptions } from '../services/service-options.ts'
import type { SyntaxQuery } from './queries/query-type.ts'

/**
 * A service with the options that it is registered with, for a map of services:
 * `{ users: Served<UserService, typeof userOptions> }`. Internal calls have the whole service.
 * `app.use('users', …)` requires exactly these options, and clients know what they expose: the listed
 * methods, with data, queries and results typed by the schemas.
 */
export type Served<
  S,
  Options extends ServiceOptions<MethodName<S>> & AgreeingOptions<S, Options>,
> = S & Serving<Options, Outside<S, Options>>

/** A service as external callers know it. */
type Outside<S, O> = {
  [M in ListedName<S, O>]: OutsideMethod<
    M,
    IdOf<S, M>,
    OutsideData<S, M, O>,
    Params<OutsideQuery<S, M, O>>,
    OutsideResult<ResultOf<S, M>, M, O>
  >
}

/** The names of the methods for external callers: the listed ones, else the standard ones. */
type ListedName<S, O> =
  Of<O, 'methods'> extends readonly (infer Name)[] ? Name & keyof S : MethodName<S> & StandardMethod

interface StandardMethods<I, D, P, R> {
  find(params?: P): Promise<R>
  get(id: I, params?: P): Promise<R>
  create(data: D, params?: P): Promise<R>
  update(id: I, data: D, params?: P): Promise<R>
  patch(id: I, data: D, params?: P): Promise<R>
  remove(id: I, params?: P): Promise<R>
}

type OutsideMethod<M, I, D, P, R> = M extends StandardMethod
  ? StandardMethods<I, D, P, R>[M]
  : (data: D, params?: P) => Promise<R>

/** The type of an option by name, `unknown` if it is missing. */
type Of<Options, Name extends string> = Name extends keyof Options
  ? NonNullable<Options[Name]>
  : unknown

/** The first existing schema among some names. */
type FirstOf<Schemas, Name extends string, Other extends string> =
  unknown extends Of<Schemas, Name> ? Of<Schemas, Other> : Of<Schemas, Name>

type SchemasOf<O> = Of<O, 'schemas'>

/** The schemas of a single method. */
type OwnOf<O, M> = Of<Of<SchemasOf<O>, 'methods'>, M & string>

/**
 * The type that fits a schema; `Otherwise` without a schema, or for one that accepts everything. For a schema
 * of unknown type, nothing is known.
 */
type Fitting<Schema, Otherwise> = unknown extends Schema
  ? Otherwise
  : object extends Schema
    ? unknown
    : Schema extends { readonly '~standard': infer Standard }
      ? Of<Of<Standard, 'types'>, 'input'>
      : Schema extends object
        ? Static<Schema>
        : Otherwise

/** The result of a method. A schema of a single standard method describes its whole result. */
type OutsideResult<R, M, O> = M extends StandardMethod
  ? unknown extends Of<OwnOf<O, M>, 'result'>
    ? Resized<R, FirstOf<SchemasOf<O>, 'result', 'entity'>>
    : Fitting<Of<OwnOf<O, M>, 'result'>, R>
  : Resized<R, Of<OwnOf<O, M>, 'result'>>

/** A result of the same kind (one record, a list or a page) whose records fit a schema. */
type Resized<R, Schema> = unknown extends Schema
  ? R
  : R extends Page<infer T>
    ? Page<Fitting<Schema, T>>
    : R extends readonly (infer T)[]
      ? Fitting<Schema, T>[]
      : R extends object
        ? Fitting<Schema, R>
        : R

/** The data of a call; for `create` also a list, if the service accepts one. */
type OutsideData<S, M, O> = M extends 'create'
  ? Listed<DataOf<S, M>, Of<SchemasOf<O>, 'create'>>
  : M extends 'update'
    ? Fitting<FirstOf<SchemasOf<O>, 'update', 'create'>, DataOf<S, M>>
    : M extends 'patch'
      ? unknown extends Of<SchemasOf<O>, 'patch'>
        ? PatchOf<Of<SchemasOf<O>, 'create'>, DataOf<S, M>>
        : Fitting<Of<SchemasOf<O>, 'patch'>, DataOf<S, M>>
      : Fitting<Of<OwnOf<O, M>, 'data'>, DataOf<S, M>>

type Listed<D, Schema> = unknown extends Schema
  ? D
  : D extends readonly (infer Item)[]
    ? Fitting<Schema, Item>[]
    : Fitting<Schema, D>

type PatchOf<Schema, Otherwise> = unknown extends Schema
  ? Otherwise
  : Partial<Fitting<Schema, Otherwise>>

/** An additional constraint on options: their schemas must only accept data that fits the service. */
interface AgreeingOptions<S, O> {
  readonly schemas?: {
    readonly create?: AgreeingSchema<S, O, 'create'>
    readonly update?: AgreeingSchema<S, O, 'update'>
    readonly patch?: AgreeingSchema<S, O, 'patch'>
    readonly methods?: {
      readonly [Name in keyof Of<SchemasOf<O>, 'methods'>]?: {
        readonly data?: Agreeing<DataOf<S, Name>, Of<OwnOf<O, Name>, 'data'>>
      }
    }
  }
}

type AgreeingSchema<S, O, M extends string> = Agreeing<DataOf<S, M>, Of<SchemasOf<O>, M>>

/** An error message if a schema names a field of the data with values of another type. */
type Agreeing<D, Schema> = [ClashingName<D, Checked<Schema>>] extends [never]
  ? unknown
  : `'${ClashingName<D, Checked<Schema>>}' has another type in the data of the service than in its schema`

/** The output type of a schema. Schemas of other libraries may convert values to another type. */
type Checked<Schema> = Schema extends { readonly '~standard': infer Standard }
  ? Of<Of<Standard, 'types'>, 'output'>
  : Fitting<Schema, unknown>

/** The names of fields whose values in a schema do not fit the data. Hooks may add and remove fields. */
type ClashingName<D, Value> = {
  [Name in keyof Value & string]: [
    Overlaps<FieldOf<D, Name>, Exclude<Value[Name], undefined>>,
  ] extends [false]
    ? Name
    : never
}[keyof Value & string]

type FieldOf<D, Name> = D extends readonly unknown[]
  ? never
  : D extends unknown
    ? Name extends keyof D
      ? Exclude<D[Name], undefined>
      : never
    : never

/** Whether the types overlap. */
type Overlaps<A, B> = [A] extends [B]
  ? true
  : [B] extends [A]
    ? true
    : A extends unknown
      ? B extends unknown
        ? IsOneOf<A, B>
        : never
      : never

/** The same for members of unions. Objects are compared by their common fields. */
type IsOneOf<A, B> = A extends B
  ? true
  : B extends A
    ? true
    : A extends readonly (infer ItemA)[]
      ? B extends readonly (infer ItemB)[]
        ? Overlaps<ItemA, ItemB>
        : false
      : A | B extends object
        ? IsClass<A | B> extends true
          ? false
          : Partial<A> extends Partial<B>
            ? true
            : false
        : false

/** Whether one of them is an object with methods, such as a date or an id. */
type IsClass<T> = true extends (T extends { toJSON(): unknown } ? true : false) ? true : false

/** The query of a call; without a schema, no query is allowed. */
type OutsideQuery<S, M, O> =
  unknown extends SchemasOf<O>
    ? QueryOf<S, M>
    : unknown extends QuerySchema<O, M>
      ? unknown extends FirstOf<SchemasOf<O>, 'result', 'entity'>
        ? NoQuery
        : SyntaxQuery<Fitting<FirstOf<SchemasOf<O>, 'result', 'entity'>, never>>
      : Closed<Fitting<QuerySchema<O, M>, QueryOf<S, M>>>

type QuerySchema<O, M> =
  unknown extends Of<OwnOf<O, M>, 'query'> ? Of<SchemasOf<O>, 'query'> : Of<OwnOf<O, M>, 'query'>

type NoQuery = Record<string, never>

/** A schema without properties allows no query, but its object type would allow any. */
type Closed<Q> = [keyof Q] extends [never] ? NoQuery : Q
