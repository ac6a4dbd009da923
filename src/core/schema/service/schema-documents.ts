import type { JSONSchema, ServiceSchemas } from '../../services/service-schemas.ts'
import { toOneDocument } from '../model/document.ts'
import { hasKeywords, visitSchemas } from '../model/keywords.ts'
import { indexReferences } from '../model/references.ts'
import { isStandardSchema } from '../validation/standard-schema.ts'

/**
 * Returns the schemas of a service as documents that refer to nothing by the `$id` of a part, so that parts
 * of them may stand in others. The same schema in several places is so in the copy.
 * @throws {TypeError} two different schemas in one of them have the same `$id`
 */
export function toDocuments(schemas: ServiceSchemas): ServiceSchemas {
  const documents = new Map<unknown, unknown>()
  const toDocument = (schema: unknown): unknown => {
    if (!hasKeywords(schema) || isStandardSchema(schema)) return schema
    const document = documents.get(schema) ?? toOneDocument(schema)
    documents.set(schema, document)
    return document
  }
  const { methods = {}, ...own } = schemas
  const custom = Object.entries(methods).map(([name, method]) => [
    name,
    mapValues(method ?? {}, toDocument),
  ])
  return { ...mapValues(own, toDocument), methods: Object.fromEntries(custom) }
}

function mapValues<T extends object>(object: T, map: (value: unknown) => unknown): T {
  const entries = Object.entries(object).map(([name, value]) => [name, map(value)])
  return Object.fromEntries(entries) as T
}

/**
 * Refuses a query that follows from the schema of a record and refers to a part of the record, which it
 * has in another place, or not at all.
 * @throws {TypeError} names the reference
 */
export function checkReferences(query: JSONSchema): void {
  if (!hasKeywords(query)) return
  const find = indexReferences(query)
  visitSchemas(query, ({ $ref }) => {
    if (typeof $ref !== 'string' || find($ref) !== undefined) return
    throw new TypeError(
      `no query follows from a record with the reference '${$ref}': ` +
        "refer to a part of its $defs, or name the 'query'",
    )
  })
}
