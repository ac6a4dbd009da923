import type { JSONSchema } from '../../services/service-schemas.ts'
import type { Keywords } from '../model/keywords.ts'
import { hasKeywords, mapSchema } from '../model/keywords.ts'

/** Keywords that make it worth while to compile a schema once: the code of others is one comparison. */
const LARGE: readonly string[] = ['properties', 'anyOf', 'oneOf', 'allOf']

/** How often each schema stands in another one, by the object that it is. */
type Occurrences = Map<Keywords, number>

/**
 * Returns a schema that accepts the same, in which parts that are one and the same object stand once,
 * with references to them. Ajv writes code for each place otherwise: for the conditions of a query, which
 * stand in `$or` and `$and` as well, it takes ten times as long.
 */
export function shareParts(schema: JSONSchema): JSONSchema {
  if (!hasKeywords(schema)) return schema
  const occurrences: Occurrences = new Map()
  // References lead to the schema with the nearest `$id`, where the shared parts are not.
  if (!countParts(schema, occurrences)) return schema
  occurrences.delete(schema)
  const repeated = [...occurrences].filter(([part, count]) => count > 1 && isLarge(part))
  if (repeated.length === 0) return schema
  const references = new Map(
    repeated.map(([part], index) => [part, { $ref: `#/$defs/${toName(index)}` }] as const),
  )
  const share = (part: unknown): unknown =>
    references.get(part as Keywords) ?? (hasKeywords(part) ? mapSchema(part, share) : part)
  const parts = repeated.map(([part], index) => [toName(index), mapSchema(part, share)] as const)
  const copy = mapSchema(schema, share)
  return { ...copy, $defs: { ...(copy['$defs'] as object), ...Object.fromEntries(parts) } }
}

/** Counts each part, and looks into it once. Returns whether none of them has an `$id`. */
function countParts(schema: Keywords, occurrences: Occurrences): boolean {
  let isAnonymous = true
  const visit = (part: unknown): unknown => {
    if (!hasKeywords(part)) return part
    const count = occurrences.get(part) ?? 0
    occurrences.set(part, count + 1)
    if (part['$id'] !== undefined) isAnonymous = false
    if (count === 0) mapSchema(part, visit)
    return part
  }
  mapSchema(schema, visit)
  return isAnonymous
}

function isLarge(schema: Keywords): boolean {
  return LARGE.some((keyword) => schema[keyword] !== undefined)
}

/** A name that no author gives. */
function toName(index: number): string {
  return `shared-${index}`
}
