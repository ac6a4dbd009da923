import type { IdObject } from '../params.ts'

/** The names of the fields of a record. */
export type FieldName<T> = keyof T & string

/**
 * Names without a type: the id that the database sets, if the record does not declare it, and paths of nested
 * fields, `'author.name'`.
 */
type UntypedField = '_id' | `${string}.${string}`

/** An id that is an object may be written as its string. */
type Comparable<V> = V extends IdObject ? V | string : V

/**
 * What a field is compared with: `null` finds records without it, and `undefined` is not allowed. A list also
 * matches by any of its items.
 */
type FieldValue<V> =
  | null
  | (V extends undefined
      ? never
      : V extends readonly (infer Item)[]
        ? V | Comparable<Item>
        : Comparable<V>)

/** Operators that a service may allow in addition to those that every service has. */
type AllowedOperator =
  | ('$regex' | '$options' | '$exists' | '$type' | '$not' | '$mod' | '$all' | '$size')
  | ('$elemMatch' | '$geoWithin' | '$geoIntersects' | '$near' | '$nearSphere')
  | ('$bitsAllSet' | '$bitsAllClear' | '$bitsAnySet' | '$bitsAnyClear')

type ListOperator = '$in' | '$nin'

/** Operators for one field, with values of its type. */
export type FieldOperators<V> = {
  [O in
    | ('$eq' | '$ne' | '$lt' | '$lte' | '$le' | '$gt' | '$gte' | '$ge')
    | (ListOperator | AllowedOperator)]?: O extends AllowedOperator
    ? unknown
    : O extends ListOperator
      ? readonly V[]
      : V
}

type Logical = '$and' | '$or' | '$nor'

/** Operators that appear in place of a field. */
type TopOperator = '$text' | '$search' | '$expr' | '$where' | '$jsonSchema' | '$comment'

/** The condition of a name; untyped for a record without a type. */
type Condition<T, Name> = string extends keyof T
  ? unknown
  : Name extends keyof T
    ? FieldValue<T[Name]> | FieldOperators<FieldValue<T[Name]>>
    : Name extends Logical
      ? readonly RecordConditions<T>[]
      : unknown

/** Conditions on the fields of a record: a value, or operators, for each of them. */
export type RecordConditions<T> = {
  [Name in FieldName<T> | UntypedField | Logical | TopOperator]?: Condition<T, Name>
}

/** Values without fields that a condition could name. */
type Single = IdObject | Date | RegExp | Uint8Array | ((...values: never) => unknown)

/** How many levels of fields a path is checked for; deeper ones may have any name. */
type MaxDepth = 3

/** The paths of the fields inside a value; `string` if its type does not list them. */
type InnerPath<V, Depth extends readonly unknown[] = []> = unknown extends V
  ? string
  : V extends Single
    ? never
    : V extends readonly (infer Item)[]
      ? InnerPath<Item, Depth>
      : V extends object
        ? string extends keyof V
          ? string
          : Depth['length'] extends MaxDepth
            ? string
            : {
                [Name in keyof V & string]-?:
                  | Name
                  | `${Name}.${InnerPath<NonNullable<V[Name]>, [...Depth, Name]>}`
              }[keyof V & string]
        : never

/** The dotted paths of nested fields. */
type DottedName<T> = {
  [Name in FieldName<T>]-?: `${Name}.${InnerPath<NonNullable<T[Name]>>}`
}[FieldName<T>]

/** The type of the value at a path. */
type ValueAt<V, Path> = unknown extends V
  ? unknown
  : V extends readonly (infer Item)[]
    ? ValueAt<Item, Path>
    : Path extends keyof V
      ? V[Path]
      : Path extends `${infer Name}.${infer Rest}`
        ? Name extends keyof V
          ? ValueAt<NonNullable<V[Name]>, Rest>
          : unknown
        : unknown

/** The condition for a field, a dotted path or an operator. */
type StrictCondition<T, Name> = Name extends Logical
  ? readonly StrictConditions<T>[]
  : Name extends keyof T
    ? Condition<T, Name>
    : Name extends DottedName<T>
      ? unknown extends ValueAt<T, Name>
        ? unknown
        : FieldValue<ValueAt<T, Name>> | FieldOperators<FieldValue<ValueAt<T, Name>>>
      : unknown

/**
 * {@link RecordConditions} with only the paths that the type of the record has. No other names are allowed,
 * so an object without a known field does not compile even as the result of a function, where TypeScript does
 * not check for excess properties.
 */
export type StrictConditions<T> = string extends keyof T
  ? RecordConditions<T>
  : {
      [Name in (FieldName<T> | '_id' | DottedName<T>) | (Logical | TopOperator)]?: StrictCondition<
        T,
        Name
      >
    }

/** The names of a query that shape its result, in addition to the conditions. */
interface Filters<T> {
  $sort: { [Name in FieldName<T> | UntypedField]?: 1 | -1 | '1' | '-1' }
  $select: readonly (FieldName<T> | UntypedField)[]
  $limit: number | string
  $skip: number | string
  $after: string | undefined
  $before: string | undefined
  $total: boolean | 'true' | 'false' | 'estimate' | { readonly cap: number | string }
}

/**
 * A query for records of a type: fields with their values or operators, `$sort`, `$select`, `$limit`,
 * `$skip`, and the names for pages with cursors. For a record of unknown type, it accepts anything.
 */
export type RecordQuery<T> = {
  [Name in
    | (FieldName<T> | UntypedField)
    | (Logical | TopOperator | keyof Filters<T>)]?: Name extends keyof Filters<T>
    ? Filters<T>[Name]
    : Condition<T, Name>
}

/** Params with a query that selects fields. */
export interface Selecting<Name extends string> {
  /** The query. */
  query: {
    /**
     * The fields of the result. Typed as `ArrayLike`: a second array type, in addition to that of `Filters`,
     * would make the compiler intersect every array method, for each service.
     */
    $select: ArrayLike<Name>
  }
}

/** A record with the fields that a query selects, and with its id. */
export type Selected<T, Name extends keyof T> =
  FieldName<T> extends Name ? T : Pick<T, Name | ('_id' & keyof T)>
