import type { Page } from '../core/params.ts'
import type { ResultName } from '../core/query-names.ts'

/** A value with its own form in JSON: a date, an `ObjectId`. */
interface WithJSON<Form> {
  /** Returns the value that represents it in JSON. */
  toJSON(): Form
}

/** Values that JSON leaves out of objects. */
type Omitted = ((...values: never) => unknown) | symbol | undefined

type IsAny<T> = 0 extends 1 & T ? true : false

/** The name of a field that JSON keeps, unless it is `undefined`. */
type KeptName<T, Name extends keyof T> = Name extends symbol
  ? never
  : [T[Name]] extends [Omitted]
    ? IsAny<T[Name]> extends true
      ? Name
      : never
    : Name

/** The name of a field that may be `undefined`. */
type MaybeName<T, Name extends keyof T> = undefined extends T[Name]
  ? IsAny<T[Name]> extends true
    ? never
    : Name
  : never

/** Whether all such fields are optional: then an object without any would fit. */
type IsOptional<T> =
  Record<never, never> extends { [Name in keyof T as MaybeName<T, Name>]: unknown } ? true : false

/** The same object, with fields that may be `undefined` made optional. */
type WithOptional<T> = Pick<
  T,
  { [Name in keyof T]-?: Exclude<Name, MaybeName<T, Name>> }[keyof T]
> & {
  [Name in keyof T as MaybeName<T, Name>]?: T[Name]
}

type ReceivedItem<T> = T extends Omitted ? null : Received<T>

/**
 * The form in which a value arrives that a server sends as JSON: a `Date` or an `ObjectId` is a string, `undefined` is
 * missing, functions are gone.
 */
export type Received<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends WithJSON<infer Form>
      ? Received<Form>
      : T extends Omitted | bigint
        ? never
        : T extends readonly unknown[]
          ? { [Index in keyof T]: ReceivedItem<T[Index]> }
          : IsOptional<T> extends true
            ? { [Name in keyof T as KeptName<T, Name>]: Received<T[Name]> }
            : Received<WithOptional<T>>

/** The form in which the result of a method arrives: `null` if the method returns nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: of methods that return nothing
export type ReceivedResult<T> = T extends undefined | void
  ? null
  : T extends Page<infer Item>
    ? keyof T extends keyof Page<unknown>
      ? Page<Received<Item>>
      : Received<T>
    : Received<T>

/**
 * The values that can be sent where the server's type is `T`: a `Date` or an `ObjectId`, or the string it is sent as.
 * An optional field may be `undefined`.
 */
export type Sendable<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends WithJSON<unknown>
      ? T | Received<T>
      : T extends Omitted | bigint
        ? never
        : { [Name in keyof T]: SendableField<T[Name]> }

// Otherwise the option `exactOptionalPropertyTypes` would reject an `undefined` that JSON leaves out.
type SendableField<V> = undefined extends V ? Sendable<V> | undefined : Sendable<V>

/**
 * The values that a query may contain where the server's type is `T`. A query string has no `null`: a server with a
 * schema reads it from an empty string.
 */
export type SendableQuery<T> = unknown extends T
  ? T
  : T extends string | number | boolean | bigint
    ? T
    : T extends WithJSON<unknown>
      ? T | Received<T>
      : T extends null
        ? ''
        : T extends Omitted
          ? never
          : SentQuery<T>

/** A query of a known type, as a client sends it: see {@link SendableQuery}. */
export type SentQuery<T> = {
  [Name in keyof T]: Name extends ResultName
    ? SendableQuery<T[Name]> | undefined
    : SendableQuery<T[Name]>
}
