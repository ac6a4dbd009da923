import type { Static, TSchema } from 'typebox'

/** Operators of a property beside those that all have, each with the schema of its value. */
export type OperatorSchemas = Readonly<Record<string, TSchema & object>>

/** Further operators by property, and further names at the top with the schemas of their values. */
export type QueryExtensions = Readonly<Record<string, OperatorSchemas | (TSchema & object)>>

/** The value of an extension. */
type ValueOf<X, Name extends keyof X> = X[Name] extends TSchema ? Static<X[Name]> : never

type Comparing = '$eq' | '$ne' | '$gt' | '$gte' | '$ge' | '$lt' | '$lte' | '$le'
type Listing = '$in' | '$nin'

/** Operators for a property, `X` beside those that all have. */
type Operators<V, X> = {
  [Name in Comparing | Listing | keyof X]?: Name extends keyof X
    ? ValueOf<X, Name>
    : Name extends Listing
      ? V[]
      : V
}

/** A list is compared by one of its items as well; `null` finds records that lack a property. */
type Value<V> = V extends undefined ? null : V extends readonly (infer Item)[] ? V | Item : V

/** The condition on a property with a type: a value, or operators. `X` are further operators. */
export type PropertyQuery<V, X = Record<never, never>> = Value<V> | Operators<Value<V>, X>

/** Names of properties, and paths of those inside of them. */
type PathOf<T> = (keyof T & string) | `${string}.${string}`

/** The condition on what has a name. */
type Condition<T, X, Name> = Name extends keyof T
  ? PropertyQuery<T[Name], Name extends keyof X ? X[Name] : Record<never, never>>
  : unknown

/** The conditions on the properties of a record. `X` are further operators, by property. */
export type PropertyQueries<T, X = Record<never, never>> = {
  [Name in PathOf<T>]?: Condition<T, X, Name>
}

/** Conditions with a list of others beside them. */
type Joined<T, X, Inner extends string> = {
  [Name in PathOf<T> | Inner]?: Name extends Inner ? PropertyQueries<T, X>[] : Condition<T, X, Name>
}

/** What a query says of its result, and conditions that are joined. */
interface Filters<T, X> {
  $limit: number
  $skip: number
  $after: string
  $before: string
  $total: boolean | 'estimate' | { cap: number }
  $sort: { [Name in PathOf<T>]?: 1 | -1 }
  $select: PathOf<T>[]
  $or: Joined<T, X, '$and'>[]
  $and: Joined<T, X, '$or'>[]
}

/** The extensions that stand at the top. */
type TopName<X> = keyof X & `$${string}`

/** A query for records of a type, as it is when it has been validated. */
export type SyntaxQuery<T, X = Record<never, never>> = {
  [Name in PathOf<T> | keyof Filters<T, X> | TopName<X>]?: Name extends TopName<X>
    ? ValueOf<X, Name>
    : Name extends keyof Filters<T, X>
      ? Filters<T, X>[Name]
      : Condition<T, X, Name>
}
