import { isObject } from '../../core/value-kind.ts'

/** The maximum number of listed names. */
const MAX_NAMES = 20

/** The maximum length of a name, which comes from a caller. */
const MAX_LENGTH = 60

/**
 * Returns the names in a query without its values, `['team', '$sort.due']`, each once. In the log of slow calls they
 * show which index is missing.
 */
export function toQueryShape(query: unknown): string[] {
  const names = new Set<string>()
  collect(query, '', names)
  return [...names]
}

function collect(value: unknown, path: string, names: Set<string>): void {
  if (names.size >= MAX_NAMES) return
  if (Array.isArray(value) && value.some(isObject)) {
    for (const item of value) collect(item, path, names)
  } else if (isObject(value) && !Array.isArray(value) && Object.keys(value).length > 0) {
    for (const [name, inner] of Object.entries(value)) {
      collect(inner, path === '' ? name : `${path}.${name}`, names)
    }
  } else if (path !== '') names.add(path.slice(0, MAX_LENGTH))
}
