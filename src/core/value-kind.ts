import { isObject } from './errors/service-error.ts'

// Errors are a layer below the core and cannot import it.
export { isObject }

/**
 * Whether a value is an object without a class, as JSON, literals and query string parsers create. An own key
 * `constructor` does not matter; dates, lists and ObjectIds are not plain.
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * Whether an object is a single value, not a set of fields: bytes, a date, a regular expression, or an
 * instance of a BSON class, such as an ObjectId. A literal with a key `_bsontype`, which JSON can contain, is
 * not.
 */
export function isSingleValue(value: object): boolean {
  if (value instanceof Date || value instanceof RegExp || value instanceof Uint8Array) return true
  return '_bsontype' in value && !Object.hasOwn(value, '_bsontype')
}

/** Whether an object has a function of this name, inherited from its class or its own. */
export function hasMethod(object: object, name: string): boolean {
  return typeof (object as Record<string, unknown>)[name] === 'function'
}

/** Whether a value can be awaited. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}

/** Whether a value is a string of at least one character. */
export function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/**
 * Whether a value is a string that can be a key: not empty and without lone surrogates, which databases all
 * store as U+FFFD.
 */
export function isKeyString(value: unknown): value is string {
  return isNonEmptyString(value) && value.isWellFormed()
}

/** Whether a value is a list of non-empty strings; the list itself may be empty. */
export function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isNonEmptyString)
}
