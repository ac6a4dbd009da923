import type { Document } from 'mongodb'

import { isPlainObject } from './plain-object.ts'

/** Returns the projection for the server: the named fields and the id. */
export function toProjection(select: readonly string[], id: string): Record<string, 1> {
  return Object.fromEntries([id, ...select].map((name) => [name, 1]))
}

/**
 * Returns what {@link toProjection} makes the server return, from a document that is at hand: the
 * named fields, inside lists as well, `_id`, and the id.
 */
export function pickSelected(document: Document, select: readonly string[], id: string): Document {
  return pick(document, ['_id', id, ...select])
}

function pick(document: Document, paths: readonly string[]): Document {
  const picked = Object.entries(document).flatMap(([name, value]): [string, unknown][] => {
    if (paths.includes(name)) return [[name, value]]
    const prefix = `${name}.`
    const inner = paths
      .filter((path) => path.startsWith(prefix))
      .map((path) => path.slice(prefix.length))
    if (inner.length === 0) return []
    const rest = pickInside(value, inner)
    return rest === undefined ? [] : [[name, rest]]
  })
  return Object.fromEntries(picked)
}

/** Fields of something that has none are left out, in lists too. */
function pickInside(value: unknown, paths: readonly string[]): unknown {
  if (isPlainObject(value)) return pick(value, paths)
  if (!Array.isArray(value)) return undefined
  return value.map((item) => pickInside(item, paths)).filter((item) => item !== undefined)
}
