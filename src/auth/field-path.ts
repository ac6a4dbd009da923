import { copyExternalForms } from '../core/index.ts'
import { isObject, isPlainObject } from '../core/value-kind.ts'

/** Returns the value at a dotted path, of own properties only; `undefined` where there is none. */
export function getField(record: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }, record)
}

/**
 * Returns a copy of a record with another value at a dotted path; objects on the way are copied.
 */
export function withField(
  record: Readonly<Record<string, unknown>>,
  path: string,
  value: unknown,
): Record<string, unknown> {
  const [key = '', ...rest] = path.split('.')
  if (rest.length === 0) return { ...record, [key]: value }
  const inner = record[key]
  const holder = isPlainObject(inner) ? inner : {}
  return { ...record, [key]: withField(holder, rest.join('.'), value) }
}

/**
 * Returns a copy of a value without the fields at these paths, in each item of arrays on the way.
 * An object with `toJSON` is replaced by what that returns; the copy of an object of a class has
 * the same class. An object of a class that has none of the fields is returned itself.
 */
export function omitFields(value: unknown, paths: readonly string[]): unknown {
  const record = getPlainForm(value)
  if (Array.isArray(record)) return record.map((item) => omitFields(item, paths))
  if (!isPlainObject(record) && !hasField(record, paths)) return value
  const copy = copyRecord(record)
  copyExternalForms(value as object, copy)
  for (const path of paths) {
    const [key = '', ...rest] = path.split('.')
    if (!Object.hasOwn(copy, key)) continue
    if (rest.length === 0) delete copy[key]
    else copy[key] = omitFields(copy[key], [rest.join('.')])
  }
  return copy
}

/** Returns what JSON would make of a value; bytes are returned as they are. */
export function getPlainForm(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return value
  const { toJSON } = (value ?? {}) as { toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

function hasField(record: unknown, paths: readonly string[]): record is Record<string, unknown> {
  if (!isObject(record)) return false
  return paths.some((path) => Object.hasOwn(record, path.split('.', 1)[0] ?? ''))
}

function copyRecord(record: Record<string, unknown>): Record<string, unknown> {
  const copy = { ...record }
  return isPlainObject(record) ? copy : Object.setPrototypeOf(copy, Object.getPrototypeOf(record))
}
