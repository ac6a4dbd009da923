import type { FindReference } from '../../core/schema/model/keywords.ts'
import { hasKeywords, indexReferences, mapSchema } from '../../core/schema/model/keywords.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'

/** Keywords that may not hold for a record of which fields are left out. */
const OF_WHOLE_RECORDS: ReadonlySet<string> = new Set([
  ...['required', 'minProperties', 'dependentRequired', 'dependentSchemas'],
  ...['not', 'if', 'then', 'else', 'unevaluatedProperties'],
  // Items may be alike in what is left of them.
  ...['contains', 'minContains', 'maxContains', 'uniqueItems'],
])

/**
 * Returns the schema of what arrives of a record where callers choose the fields by `$select`: any of
 * them, at every depth, and always its id.
 * @param idNames the names that the id may have
 */
export function toSelectedRecord(record: JSONSchema, idNames: readonly string[]): JSONSchema {
  if (!hasKeywords(record)) return record
  const find = indexReferences(record)
  const required = idNames.filter((name) => isRequired(record, name, find))
  return { ...(toPart(record) as object), ...(required.length > 0 ? { required } : {}) }
}

function toPart(schema: unknown): unknown {
  if (!hasKeywords(schema)) return schema
  const kept = Object.entries(schema).filter(([keyword]) => !OF_WHOLE_RECORDS.has(keyword))
  const { oneOf, ...part } = mapSchema(Object.fromEntries(kept), toPart)
  // A part of a record may fit several of the kinds that the whole is one of.
  return oneOf === undefined ? part : { anyOf: oneOf, ...part }
}

/** Whether all records have a property. */
function isRequired(
  schema: unknown,
  name: string,
  find: FindReference,
  above: readonly unknown[] = [],
): boolean {
  if (!hasKeywords(schema) || above.includes(schema)) return false
  const isIn = (one: unknown): boolean => isRequired(one, name, find, [...above, schema])
  const { required, $ref, allOf, anyOf, oneOf } = schema
  if (Array.isArray(required) && required.includes(name)) return true
  if (typeof $ref === 'string' && isIn(find($ref))) return true
  if (Array.isArray(allOf) && allOf.some(isIn)) return true
  return [anyOf, oneOf].some((list) => Array.isArray(list) && list.length > 0 && list.every(isIn))
}
