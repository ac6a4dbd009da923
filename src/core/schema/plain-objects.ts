import { isPlainObject } from '../value-kind.ts'

const PLAIN = { enumerable: true, configurable: true, writable: true }

/** Sets an own property of an object, whatever its name is, even `__proto__`. */
export function setOwnProperty(
  object: Record<string, unknown>,
  name: string,
  value: unknown,
): void {
  if (name !== '__proto__') object[name] = value
  // An assignment would set the prototype.
  else Object.defineProperty(object, name, { ...PLAIN, value })
}

/**
 * Returns a copy of the objects and lists in a value, so that changes do not affect an object of an internal
 * caller. Dates, ids and instances of classes stay the same.
 */
export function copyPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyPlain)
  if (!isPlainObject(value)) return value
  const copy: Record<string, unknown> = { ...value }
  for (const [name, inner] of Object.entries(copy)) {
    if (typeof inner === 'object') copy[name] = copyPlain(inner)
  }
  return copy
}
