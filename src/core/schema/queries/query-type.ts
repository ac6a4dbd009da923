import type { Static, TSchema } from 'typebox'

/** Operators of a property beside those that all have, each with the schema of its value. */
export type OperatorSchemas = Readonly<Record<string, TSchema>>

/** No extensions. */
export type None = Record<never, never>

/** The values of further operators. */
type OperatorValues<X> = {
  [Name in keyof X]?: X[Name] extends TSchema ? Static<X[Name]> : never
}

/** A list is compared by one of its items as well; `null` finds records that lack a property. */
type Value<V> = V extends undefined ? null : V extends readonly (infer Item)[] ? V | Item : V

/** The operators that all properties have. */
interface Operators<V> {
  $eq?: V
  $ne?: V
  $gt?: V
  $gte?: V
  $ge?: V
  $lt?: V
  $lte?: V
  $le?: V
  $in?: V[]
  $nin?: V[]
}

/** The condition on a property with a type: a value, or operators. `X` are further operators. */
export type PropertyQuery<V, X = None> = Value<V> | (Operators<Value<V>> & OperatorValues<X>)

/** The path of a property inside another one. */
type InnerPath = `${string}.${string}`

/** The names that a query may have: those of the properties, and of the properties inside of them. */
type PathOf<T> = (keyof T & string) | InnerPath

/** The conditions on the properties of a record. `X` are further operators, by property. */
export type PropertyQueries<T, X = None> = {
  [Name in PathOf<T>]?: Name extends keyof T
    ? PropertyQuery<T[Name], Name extends keyof X ? X[Name] : None>
    : unknown
}

/** The top of a query beside the properties, with names that extensions give. */
type TopValues<X> = {
  [Name in keyof X as Name extends `$${string}` ? Name : never]?: X[Name] extends TSchema
    ? Static<X[Name]>
    : never
}

/** What a query says of its result, and conditions that are joined. */
interface Filters<T, Properties> {
  $limit?: number
  $skip?: number
  $sort?: { [Name in PathOf<T>]?: 1 | -1 }
  $select?: PathOf<T>[]
  $or?: (Properties & { $and?: Properties[] })[]
  $and?: (Properties & { $or?: Properties[] })[]
}

/** A query for records of a type, as it is when it has been validated. */
export type SyntaxQuery<T, X = None> = PropertyQueries<T, X> &
  Omit<Filters<T, PropertyQueries<T, X>>, keyof X> &
  TopValues<X>
