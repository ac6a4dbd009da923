import { isPlainObject } from '../../core/value-kind.ts'
import { capitalize } from './service-names.ts'

/** A schema as it stands in a document. */
type Schema = Readonly<Record<string, unknown>>

/** The keywords that hold definitions, by their names. */
const DEFINITION_KEYWORDS = ['$defs', 'definitions']

/**
 * Returns the schemas of a document with the definitions inside each of them as schemas of their own,
 * and all references changed to that: some generators find no others.
 * @param base what references to the schemas begin with
 */
export function liftDefinitions(
  schemas: ReadonlyMap<string, Schema>,
  base: string,
): Readonly<Record<string, Schema>> {
  const lifted = new Map(schemas)
  const places = new Map<string, string>()
  for (const [name, schema] of schemas) {
    const rest = { ...schema }
    for (const keyword of DEFINITION_KEYWORDS) {
      const definitions = schema[keyword]
      if (!isPlainObject(definitions)) continue
      delete rest[keyword]
      for (const [key, definition] of Object.entries(definitions)) {
        const own = toFreeName(`${name}${toNamePart(key)}`, lifted)
        lifted.set(own, definition as Schema)
        places.set(`${base}${name}/${keyword}/${escapePointer(key)}`, base + own)
      }
    }
    lifted.set(name, rest)
  }
  const entries = [...lifted].map(([name, schema]) => [name, moveReferences(schema, places)])
  return Object.fromEntries(entries)
}

function toFreeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name
  for (let count = 2; taken.has(free); count += 1) free = `${name}${count}`
  return free
}

function toNamePart(key: string): string {
  return key
    .split(/[^A-Za-z0-9]+/)
    .map(capitalize)
    .join('')
}

function moveReferences(value: unknown, places: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => moveReferences(item, places))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      key === '$ref' && typeof part === 'string'
        ? move(part, places)
        : moveReferences(part, places),
    ]),
  )
}

/** A reference may lead further down, to a part of a definition. */
function move(reference: string, places: ReadonlyMap<string, string>): string {
  for (const [from, to] of places) {
    if (reference === from || reference.startsWith(`${from}/`)) {
      return to + reference.slice(from.length)
    }
  }
  return reference
}

/** Returns a name as it stands in a JSON pointer inside of a URI. @see RFC 6901 §6 */
export function escapePointer(key: string): string {
  // The dollar of `$defs` may stand in a fragment, and reads better as it is.
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('%24', '$')
}
