import {
  ALTERNATIVES,
  createCopier,
  hasKeywords,
  listSchemas,
  mapSchema,
} from '../../core/schema/model/keywords.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'

/** Keywords that may not hold for a record with fields left out. */
const OF_WHOLE_RECORDS: ReadonlySet<string> = new Set([
  ...['required', 'minProperties', 'dependentRequired', 'dependentSchemas'],
  ...['not', 'if', 'then', 'else', 'unevaluatedProperties'],
  // Items may be equal after fields were left out.
  ...['contains', 'minContains', 'maxContains', 'uniqueItems'],
])

/**
 * Returns the schema of a record whose fields callers choose with `$select`: any of them, at every depth, and always
 * its id.
 * @param idNames the possible names of the id
 */
export function toSelectedRecord(record: JSONSchema, idNames: readonly string[]): JSONSchema {
  const toPart = createCopier((schema) => {
    const kept = Object.entries(schema).filter(([keyword]) => !OF_WHOLE_RECORDS.has(keyword))
    const { oneOf, ...part } = mapSchema(Object.fromEntries(kept), toPart)
    // A partial record may match several of the kinds that the whole is one of.
    return oneOf === undefined ? part : { anyOf: oneOf, ...part }
  })
  const selected = toPart(record) as JSONSchema
  const required = idNames.filter((name) => isRequired(record, name))
  // Assigned to the copy itself, as parts of it may refer to it.
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
