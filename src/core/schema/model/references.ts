import { isObject } from '../../value-kind.ts'
import type { Keywords } from './keywords.ts'
import { visitSchemas } from './keywords.ts'

/** Returns the schema that a `$ref` means, `undefined` where it is not in the same document. */
export type FindReference = (reference: string) => unknown

/** Returns what finds the schemas inside of one: by `#/$defs/name`, by their `$id`, or by `#anchor`. */
export function indexReferences(root: object): FindReference {
  const named = new Map<string, unknown>([['', root]])
  visitSchemas(root, (schema) => {
    const { $id, $anchor } = schema
    if (typeof $id === 'string') named.set($id.replace(/#$/, ''), schema)
    if (typeof $anchor === 'string') named.set(`#${$anchor}`, schema)
  })
  return (reference) => {
    if (named.has(reference)) return named.get(reference)
    const start = reference.indexOf('#')
    if (start < 0) return undefined
    return followPointer(named.get(reference.slice(0, start)), reference.slice(start + 1))
  }
}

/**
 * Returns the schema at a JSON pointer in another one, as it stands behind the `#` of a reference;
 * `undefined` where there is none.
 * @see RFC 6901 §4, §6
 */
export function followPointer(schema: unknown, pointer: string): unknown {
  let found = schema
  for (const part of pointer === '' ? [] : pointer.slice(1).split('/')) {
    const name = decodePercent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    found = isObject(found) && Object.hasOwn(found, name) ? (found as Keywords)[name] : undefined
  }
  return found
}

/** A `%` that encodes nothing stands for itself: authors forget to encode the names of definitions. */
function decodePercent(part: string): string {
  return /%(?![\da-f]{2})/i.test(part) ? part : decodeURIComponent(part)
}
