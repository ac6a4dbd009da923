import type { TUnsafe } from 'typebox'
import { Type } from 'typebox'

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
