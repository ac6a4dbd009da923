import { isPlainObject } from './settings-merge.ts'

/** Returns the value at a dotted path, of own properties only; `undefined` where there is none. */
export function getField(record: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    const isHolder = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    return isHolder ? (value as Record<string, unknown>)[key] : undefined
  }, record)
}

/** Returns a copy of a record with another value at a dotted path; objects on the way are copied. */
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
 * Only arrays and plain objects are looked into; objects with `toJSON` are first made plain by it.
 */
export function omitFields(value: unknown, paths: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => omitFields(item, paths))
  const record = toPlain(value)
  if (!isPlainObject(record)) return value
  const copy = { ...record }
  for (const path of paths) {
    const [key = '', ...rest] = path.split('.')
    if (!Object.hasOwn(copy, key)) continue
    if (rest.length === 0) delete copy[key]
    else copy[key] = omitFields(copy[key], [rest.join('.')])
  }
  return copy
}

function toPlain(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}
