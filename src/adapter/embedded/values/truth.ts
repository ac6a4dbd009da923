import { isEqual } from './compare.ts'

/** Returns whether a value counts as true in an expression. */
export function isTrue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && !isEqual(value, 0)
}
