import { isPlainObject } from '../value-kind.ts'
import type { Keywords } from './json-schema.ts'

/** Keywords whose value is one schema. */
const SINGLE: ReadonlySet<string> = new Set([
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['not', 'if', 'then', 'else'],
])
/** Keywords whose value is a list of schemas; that of `items` may be one. */
const LISTS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
/** Keywords whose value has a schema for each name. */
const MAPS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
])

/**
 * Returns what takes the place of a schema inside another one.
 * @param keyword the keyword that it belongs to
 * @param name its name in `properties` and the like
 */
export type SchemaMapping = (schema: unknown, keyword: string, name?: string) => unknown

/** Returns a copy of a schema in which each schema inside it, one level deep, is replaced. */
export function mapSchema(schema: Keywords, map: SchemaMapping): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, mapKeyword(keyword, value, map)]),
  )
}

function mapKeyword(keyword: string, value: unknown, map: SchemaMapping): unknown {
  if (LISTS.has(keyword) && Array.isArray(value)) return value.map((one) => map(one, keyword))
  if (MAPS.has(keyword) && isPlainObject(value)) {
    const entries = Object.entries(value)
    return Object.fromEntries(entries.map(([name, one]) => [name, map(one, keyword, name)]))
  }
  return SINGLE.has(keyword) ? map(value, keyword) : value
}

/** Whether a schema has keywords, rather than being `true` or `false`. */
export function hasKeywords(schema: unknown): schema is Keywords {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}
