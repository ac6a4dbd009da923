import { splitPath } from '../routing/request-path.ts'
import type { Parameter } from './components.ts'
import { capitalize } from './components.ts'

/** Returns the URL of all records of a service or of one, as the document writes it. */
export function toUrl(
  prefix: string,
  path: string,
  isOne: boolean,
): { readonly path: string; readonly parameters: readonly Parameter[] } {
  const segments = splitPath(`${prefix}/${path}`)
  const names = segments.flatMap((one) => (one.startsWith(':') ? [one.slice(1)] : []))
  let id = 'id'
  while (names.includes(id)) id = `_${id}`
  const all = isOne ? [...segments, `:${id}`] : segments
  const written = all.map((one) => `/${one.startsWith(':') ? `{${one.slice(1)}}` : encodeURI(one)}`)
  const parameters = (isOne ? [...names, id] : names).map(
    (name): Parameter => ({ name, in: 'path', required: true, schema: { type: 'string' } }),
  )
  return { path: written.join('') || '/', parameters }
}

/** Returns a path without the names of its parameters: two with the same one are the same path. */
export function toShape(path: string): string {
  return path.replace(/\{[^}]*\}/g, '{}')
}

/** Returns the name of a service for types and operations: `UsersByUserIdMessages`. */
export function toTypeName(path: string): string {
  const words = path.split('/').flatMap((segment) => {
    const words = segment.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
    return segment.startsWith(':') ? ['by', ...words] : words
  })
  return words.map(capitalize).join('') || 'Root'
}
