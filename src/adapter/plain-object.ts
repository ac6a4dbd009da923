/**
 * Returns whether a value is an object as JSON, literals and query string parsers make it: without a
 * class. An own key `constructor` changes nothing about it; dates and ObjectIds are not plain.
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
