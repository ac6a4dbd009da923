import { isPlainObject } from './value-kind.ts'

const DIGITS = /^[0-9]+$/

/**
 * Returns the list that a value is: an array, or an object whose keys are indexes, as query string
 * parsers make it of long lists. `undefined` for anything else.
 */
export function toList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (!isPlainObject(value)) return undefined
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => DIGITS.test(key)) ? Object.values(value) : undefined
}
