import type { Static, TSchema } from 'typebox'

/** Additional operators of a property, each with the schema of its value. */
export type OperatorSchemas = Readonly<Record<string, TSchema & object>>

/** Additional operators by property, and additional top-level names with the schemas of their values. */
export type QueryExtensions = Readonly<Record<string, OperatorSchemas | (TSchema & object)>>

/** The value of an extension. */
type ValueOf<X, Name extends keyof X> = X[Name] extends TSchema ? Static<X[Name]> : never

type Comparing = '$eq' | '$ne' | '$gt' | '$gte' | '$ge' | '$lt' | '$lte' | '$le'
type Listing = '$in' | '$nin'

/** Operators for a property: the standard ones and `X`. */
type Operators<V, X> = {
  [Name in Comparing | Listing | keyof X]?: Name extends keyof X
    ? ValueOf<X, Name>
    : Name extends Listing
      ? V[]
      : V
}

/** A list is also compared by its items; `null` finds records that lack a property. */
type Value<V> = V extends undefined ? null : V extends readonly (infer Item)[] ? V | Item : V

/** The condition on a property of a type: a value, or operators. `X` are additional operators. */
export type PropertyQuery<V, X = Record<never, never>> = Value<V> | Operators<Value<V>, X>

/** Names of properties, and paths of nested ones. */
type PathOf<T> = (keyof T & string) | `${string}.${string}`

/** The condition for a name. */
type Condition<T, X, Name> = Name extends keyof T
  ? PropertyQuery<T[Name], Name extends keyof X ? X[Name] : Record<never, never>>
  : unknown

/** The conditions on the properties of a record. `X` are additional operators, by property. */
export type PropertyQueries<T, X = Record<never, never>> = {
  [Name in PathOf<T>]?: Condition<T, X, Name>
}

/** Conditions together with a list of others. */
type Joined<T, X, Inner extends string> = {
  [Name in PathOf<T> | Inner]?: Name extends Inner ? PropertyQueries<T, X>[] : Condition<T, X, Name>
}

/** Names that shape the result, and joined conditions. */
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

/** The extensions with top-level names. */
type TopName<X> = keyof X & `$${string}`

/** A validated query for records of a type. */
export type SyntaxQuery<T, X = Record<never, never>> = {
  [Name in PathOf<T> | keyof Filters<T, X> | TopName<X>]?: Name extends TopName<X>
    ? ValueOf<X, Name>
    : Name extends keyof Filters<T, X>
      ? Filters<T, X>[Name]
      : Condition<T, X, Name>
}
