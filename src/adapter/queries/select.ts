import type { Document } from 'mongodb'
import { isObject, isPlainObject, isSingleValue } from '../../core/value-kind.ts'

/**
 * Returns a record without the fields at some paths, also inside lists. Parts that are not on these paths are
 * shared with the record.
 */
export function omitFields(record: Document, paths: readonly string[]): Document {
  return paths.length === 0 ? record : (omit(record, paths) as Document)
}

function omit(value: unknown, paths: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => omit(item, paths))
  if (!isObject(value) || isSingleValue(value)) return value
  // Objects of classes are stored as their fields, and maps as their entries.
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  const kept = entries.flatMap(([name, inner]): [string, unknown][] => {
    if (paths.includes(name)) return []
    const below = listBelow(paths, name)
    return [[name, below.length === 0 ? inner : omit(inner, below)]]
  })
  return Object.fromEntries(kept)
}

/** Returns the projection for the server: the named fields and the id. */
export function createProjection(select: readonly string[], id: string): Record<string, 1> {
  return Object.fromEntries([id, ...select].map((name) => [name, 1]))
}

/**
 * Returns from a given document what the server would return with {@link createProjection}: the named fields,
 * also inside lists, `_id`, and the id.
 */
export function pickSelected(document: Document, select: readonly string[], id: string): Document {
  return pick(document, ['_id', id, ...select])
}

/** Returns a copy of a whole record with the fields that a projection would give. */
export function showFields(stored: Document, fields: ShownFields): Document {
  const { select, hidden, id } = fields
  const shown = select === undefined ? { ...stored } : pickSelected(stored, select, id)
  return hidden.length === 0 ? shown : omitFields(shown, hidden)
}

/** Which fields of a record a caller gets. */
interface ShownFields {
  /** Fields that the caller must not get. */
  readonly hidden: readonly string[]
  /** The requested fields, `undefined` for all. */
  readonly select: readonly string[] | undefined
  /** The id field, which is always there. */
  readonly id: string
}

function pick(document: Document, paths: readonly string[]): Document {
  const picked = Object.entries(document).flatMap(([name, value]): [string, unknown][] => {
    if (paths.includes(name)) return [[name, value]]
    const below = listBelow(paths, name)
    if (below.length === 0) return []
    const rest = pickInside(value, below)
    return rest === undefined ? [] : [[name, rest]]
  })
  return Object.fromEntries(picked)
}

/** Values without fields are dropped, also in lists. */
function pickInside(value: unknown, paths: readonly string[]): unknown {
  if (isPlainObject(value)) return pick(value, paths)
  if (!Array.isArray(value)) return undefined
  return value.map((item) => pickInside(item, paths)).filter((item) => item !== undefined)
}

/** Returns the paths that lie inside of a field, without its name. */
function listBelow(paths: readonly string[], name: string): readonly string[] {
  const prefix = `${name}.`
  return paths.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length))
}
