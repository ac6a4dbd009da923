import type { Keywords } from './json-schema.ts'
import { hasKeywords, mapSchema } from './map-schema.ts'

/**
 * Returns the keywords of a schema with the tuple that it may have as JSON Schema 2020-12 writes it, by
 * `prefixItems`. TypeBox writes it as older ones do: `items` is a list.
 */
export function toPrefixItems(schema: Keywords): Keywords {
  const { items, additionalItems, ...others } = schema
  if (!Array.isArray(items)) return schema
  return {
    ...others,
    ...(items.length > 0 && { prefixItems: items }),
    ...(additionalItems !== undefined && { items: additionalItems }),
  }
}

/** Returns a copy of a schema with all tuples in it as JSON Schema 2020-12 writes them. */
export function withPrefixItems<S>(schema: S): S | Keywords {
  return hasKeywords(schema) ? mapSchema(toPrefixItems(schema), withPrefixItems) : schema
}
