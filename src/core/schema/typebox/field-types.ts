import type { Static, TSchema, TUnsafe } from 'typebox'
import { Type } from 'typebox'

/** What a field with one of some strings may say beside that. */
export interface StringEnumOptions<T extends string> {
  /** The value where none is given. */
  readonly default?: T
  /** What the field means, for the documentation. */
  readonly description?: string
  /** A short name, for the documentation. */
  readonly title?: string
}

/** Returns the schema of a string that is one of those given. */
export function StringEnum<const T extends string>(
  values: readonly T[],
  options: StringEnumOptions<T> = {},
): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], ...options })
}

/** The type of what fits a schema: of TypeBox, or a JSON Schema that is written `as const`. */
export type FromSchema<S extends TSchema> = Static<S>

/** What a field with a date may say beside that. */
export interface DateSchemaOptions {
  /** What the field means, for the documentation. */
  readonly description?: string
  /** A short name, for the documentation. */
  readonly title?: string
}

/**
 * Returns the schema of a field with a Date, for TypeBox and as JSON Schema. Callers give a Date, or the
 * date and time as a string with its offset from UTC, `2026-01-31T12:00:00Z`, in the place of which a
 * Date is put into the data or query.
 */
export function DateSchema(options: DateSchemaOptions = {}): TUnsafe<Date> {
  return Type.Unsafe<Date>({ ...options, date: true })
}
