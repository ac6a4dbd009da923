import {
  ALTERNATIVES,
  createCopier,
  hasKeywords,
  listSchemas,
  mapSchema,
} from '../../core/schema/model/keywords.ts'
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
  const toPart = createCopier((schema) => {
    const kept = Object.entries(schema).filter(([keyword]) => !OF_WHOLE_RECORDS.has(keyword))
    const { oneOf, ...part } = mapSchema(Object.fromEntries(kept), toPart)
    // A part of a record may fit several of the kinds that the whole is one of.
    return oneOf === undefined ? part : { anyOf: oneOf, ...part }
  })
  const selected = toPart(record) as JSONSchema
  const required = idNames.filter((name) => isRequired(record, name))
  // In the copy itself, which parts of it may refer to.
  return required.length === 0 ? selected : Object.assign(selected, { required })
}

/** Whether all records have a property. */
function isRequired(schema: unknown, name: string, above: readonly unknown[] = []): boolean {
  if (!hasKeywords(schema) || above.includes(schema)) return false
  const isIn = (one: unknown): boolean => isRequired(one, name, [...above, schema])
  const { required } = schema
  return (
    (Array.isArray(required) && required.includes(name)) ||
    ['$ref', 'allOf'].some((keyword) => listSchemas(schema, keyword).some(isIn)) ||
    ALTERNATIVES.some((keyword) => keyword in schema && listSchemas(schema, keyword).every(isIn))
  )
}
