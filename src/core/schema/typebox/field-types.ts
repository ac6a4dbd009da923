import type { Static, TSchema, TUnsafe } from 'typebox'
import { Type } from 'typebox'

/** Annotations of a field with one of several strings. */
export interface StringEnumOptions<T extends string> {
  /** The default value. */
  readonly default?: T
  /** What the field means, for the documentation. */
  readonly description?: string
  /** A short name, for the documentation. */
  readonly title?: string
}

/** Returns the schema of a string that is one of the given ones. */
export function StringEnum<const T extends string>(
  values: readonly T[],
  options: StringEnumOptions<T> = {},
): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], ...options })
}

/** The type of values that fit a schema of TypeBox, or a JSON Schema written `as const`. */
export type FromSchema<S extends TSchema> = Static<S>

/** Annotations of a field with a date. */
export interface DateSchemaOptions {
  /** What the field means, for the documentation. */
  readonly description?: string
  /** A short name, for the documentation. */
  readonly title?: string
}

/**
 * Returns the schema of a field with a Date, for TypeBox and as JSON Schema. Callers pass a Date, or a string
 * with date, time and UTC offset, `2026-01-31T12:00:00Z`, which is replaced by a Date in the data or query.
 */
export function DateSchema(options: DateSchemaOptions = {}): TUnsafe<Date> {
  return Type.Unsafe<Date>({ ...options, date: true })
}
