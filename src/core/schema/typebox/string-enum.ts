import type { TUnsafe } from 'typebox'
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
