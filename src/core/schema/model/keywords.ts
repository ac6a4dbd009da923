import { isObject, isPlainObject } from '../../value-kind.ts'

/** The keywords of a JSON Schema; `undefined` for the ones that it lacks. */
export type Keywords = Readonly<Record<string, unknown>>

// The keywords that have schemas in them, by how they hold these.

/** One schema. */
const SINGLE: ReadonlySet<string> = new Set([
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['not', 'if', 'then', 'else'],
])
/** A list of schemas; `items` is one in drafts before 2020. */
const LISTS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
/** Schemas by their names. */
const MAPS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
])

/** Keywords with definitions, which hold for no value by themselves. */
export const DEFINITIONS: readonly string[] = ['$defs', 'definitions']

/** Keywords whose schemas hold for the same value as the one that they stand in, or may. */
export const SAME_VALUE: readonly string[] = [
  ...['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas'],
]

/** Keywords with alternatives, one or more of which hold. */
export const ALTERNATIVES: readonly string[] = ['anyOf', 'oneOf']

/** Keywords of the properties that an object has beside those that it names. */
export const OTHER_PROPERTIES: readonly string[] = ['additionalProperties', 'unevaluatedProperties']

/** Whether a schema has keywords, rather than being `true` or `false`. */
export function hasKeywords(schema: unknown): schema is Keywords {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

/** Returns the schemas that a keyword has by names, none where it is not there. */
export function toNamedSchemas(value: unknown): Keywords {
  return hasKeywords(value) ? value : {}
}

/** Returns the values that a schema lists by `const` or `enum`, `undefined` where it lists none. */
export function listValues(schema: Keywords): readonly unknown[] | undefined {
  const values = 'const' in schema ? [schema['const']] : schema['enum']
  return Array.isArray(values) ? values : undefined
}

/** Returns the schemas that a keyword has, in whatever shape. */
export function listSchemas(schema: Keywords, keyword: string): readonly unknown[] {
  const value = schema[keyword]
  if (value === undefined) return []
  return MAPS.has(keyword) ? Object.values(toNamedSchemas(value)) : [value].flat()
}

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

/** Calls a function with a schema and all in it, with each object once. */
export function visitSchemas(root: unknown, visit: (schema: Keywords) => void): void {
  const seen = new Set<unknown>()
  const enter = (schema: unknown): void => {
    if (!hasKeywords(schema) || seen.has(schema)) return
    seen.add(schema)
    visit(schema)
    mapSchema(schema, enter)
  }
  enter(root)
}

/** Whether a function is true for a schema, or for one in it. */
export function someSchema(root: unknown, test: (schema: Keywords) => boolean): boolean {
  let isFound = false
  visitSchemas(root, (schema) => {
    isFound ||= test(schema)
  })
  return isFound
}

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
