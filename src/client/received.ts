import type { Page } from '../core/params.ts'
import type { ResultName } from '../core/query-names.ts'

/** A value with a form for JSON of its own: a date, an `ObjectId`. */
interface WithJSON<Form> {
  /** Returns what JSON has in the place of the value. */
  toJSON(): Form
}

/** What JSON leaves out of objects. */
type Omitted = ((...values: never) => unknown) | symbol | undefined

type IsAny<T> = 0 extends 1 & T ? true : false

/** The name of what JSON keeps of an object, unless it is `undefined`. */
type KeptName<T, Name extends keyof T> = Name extends symbol
  ? never
  : [T[Name]] extends [Omitted]
    ? IsAny<T[Name]> extends true
      ? Name
      : never
    : Name

/** The name of what may be `undefined`. */
type MaybeName<T, Name extends keyof T> = undefined extends T[Name]
  ? IsAny<T[Name]> extends true
    ? never
    : Name
  : never

/** Whether such fields are all optional: an object without any would fit. */
type IsOptional<T> =
  Record<never, never> extends { [Name in keyof T as MaybeName<T, Name>]: unknown } ? true : false

/** The same object, whose fields are optional where they may be `undefined`. */
type WithOptional<T> = Pick<
  T,
  { [Name in keyof T]-?: Exclude<Name, MaybeName<T, Name>> }[keyof T]
> & {
  [Name in keyof T as MaybeName<T, Name>]?: T[Name]
}

type ReceivedItem<T> = T extends Omitted ? null : Received<T>

/**
 * What arrives of a value that a server sends as JSON: a `Date` or an `ObjectId` is a string, what is
 * `undefined` is missing, functions are gone.
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

/** What arrives of the result of a method: `null` where the method returns nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: of methods that return nothing
export type ReceivedResult<T> = T extends undefined | void
  ? null
  : T extends Page<infer Item>
    ? keyof T extends keyof Page<unknown>
      ? Page<Received<Item>>
      : Received<T>
    : Received<T>

/**
 * What can be sent where the server's type says `T`: a `Date` or an `ObjectId`, or the string that
 * it is sent as. A field that may be missing may be `undefined`.
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

// Without this, the option `exactOptionalPropertyTypes` would refuse an `undefined` that JSON leaves out.
type SendableField<V> = undefined extends V ? Sendable<V> | undefined : Sendable<V>

/**
 * What can stand in a query where the server's type says `T`. A query string has no `null`: a server with
 * a schema reads it from an empty string.
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

/** A query of a known type as a client sends it: see {@link SendableQuery}. */
export type SentQuery<T> = {
  [Name in keyof T]: Name extends ResultName
    ? SendableQuery<T[Name]> | undefined
    : SendableQuery<T[Name]>
}
