import { isObject, isPlainObject } from '../../value-kind.ts'

/** The keywords of a JSON Schema; `undefined` for missing ones. */
export type Keywords = Readonly<Record<string, unknown>>

// The keywords that contain schemas, by the shape of their value.

/** One schema; `$ref` if references are linked. */
const SINGLE: ReadonlySet<string> = new Set([
  '$ref',
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['not', 'if', 'then', 'else'],
])
/** A list of schemas; `items` can be one in drafts before 2020. */
const LISTS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
/** Schemas by name. In `dependencies` of draft-07, a value may be a list of property names instead. */
const MAPS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies'],
  ...['$defs', 'definitions'],
])

/** Keywords with definitions, which do not apply to a value by themselves. */
export const DEFINITIONS: readonly string[] = ['$defs', 'definitions']

/** Keywords whose schemas always apply to the same value. */
export const CERTAIN: readonly string[] = ['$ref', 'allOf']

/** Keywords with alternatives. At least one applies. */
export const ALTERNATIVES: readonly string[] = ['anyOf', 'oneOf']

/** All keywords whose schemas describe the same value, in order of precedence. */
export const SAME_VALUE: readonly string[] = [
  ...CERTAIN,
  ...ALTERNATIVES,
  ...['if', 'then', 'else', 'dependentSchemas', 'dependencies'],
]

/** Those whose schemas the value may have to fit: `if` is only a test. */
export const POSSIBLE: readonly string[] = SAME_VALUE.filter((keyword) => keyword !== 'if')

/** Keywords that name the properties of an object. */
export const NAMING: readonly string[] = ['properties', 'patternProperties']

/** Keywords for the properties of an object that it does not name. */
export const OTHER_PROPERTIES: readonly string[] = ['additionalProperties', 'unevaluatedProperties']

/** Whether a schema has keywords, rather than being `true` or `false`. */
export function hasKeywords(schema: unknown): schema is Keywords {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

/** Returns the schemas that a keyword has by name, none if it is missing. */
export function toNamedSchemas(value: unknown): Keywords {
  return hasKeywords(value) ? value : {}
}

/** Returns the values that a schema lists by `const` or `enum`, `undefined` if it lists none. */
export function listValues(schema: Keywords): readonly unknown[] | undefined {
  const values = 'const' in schema ? [schema['const']] : schema['enum']
  return Array.isArray(values) ? values : undefined
}

/**
 * Returns the types that a schema names by its `type`, else by its constants, none if any value fits.
 * Constants that are objects or lists are of the type `any`.
 */
export function listTypes(schema: Keywords): readonly string[] {
  return [schema['type'] ?? listValues(schema)?.map(toType) ?? []].flat().map(String)
}

function toType(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? 'any' : typeof value
}

/** Returns the schemas of a keyword, whatever their shape. */
export function listSchemas(schema: Keywords, keyword: string): readonly unknown[] {
  const value = schema[keyword]
  if (value === undefined) return []
  if (!MAPS.has(keyword)) return [value].flat()
  return Object.values(toNamedSchemas(value)).filter((one) => !Array.isArray(one))
}

/** Returns the replacement of a schema inside a keyword of another one. */
type SchemaMapping = (schema: unknown, keyword: string) => unknown

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
    return Object.fromEntries(
      entries.map(([name, one]) => [name, Array.isArray(one) ? one : map(one, keyword)]),
    )
  }
  return SINGLE.has(keyword) ? map(value, keyword) : value
}

/** Calls a function with a schema and all schemas inside it, each once. */
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

/** Whether a function returns true for a schema, or for one inside it. */
export function someSchema(root: unknown, test: (schema: Keywords) => boolean): boolean {
  let isFound = false
  visitSchemas(root, (schema) => {
    isFound ||= test(schema)
  })
  return isFound
}

/**
 * Returns the keywords of a schema with its tuple, if any, in the form of JSON Schema 2020-12, `prefixItems`.
 * TypeBox writes the older form, in which `items` is a list.
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

/** Returns a copy of a schema with all tuples in the form of JSON Schema 2020-12. */
export function withPrefixItems<S>(schema: S): S | Keywords {
  return hasKeywords(schema) ? mapSchema(toPrefixItems(schema), withPrefixItems) : schema
}

/**
 * Returns a function that copies schemas, each once: an object in several places is also one object in the
 * copy, and a schema that contains itself has a copy that does too.
 * @param change returns the keywords of the copy, with copies of the inner schemas
 */
export function createCopier(change: (schema: Keywords) => object): (schema: unknown) => unknown {
  const copies = new Map<Keywords, object>()
  return (schema) => {
    if (!hasKeywords(schema)) return schema
    const known = copies.get(schema)
    if (known !== undefined) return known
    const copy = {}
    // Set before it has its keywords, which may lead back to it.
    copies.set(schema, copy)
    return Object.assign(copy, change(schema))
  }
}

/** Returns schemas without those equal to an earlier one. */
export function withoutRepeated(schemas: readonly unknown[]): readonly unknown[] {
  const targets: unknown[] = []
  const byText = new Map<string, unknown>()
  for (const schema of schemas) {
    const text = JSON.stringify(schema, (keyword, value) => {
      if (keyword !== '$ref' || !isObject(value)) return value
      if (!targets.includes(value)) targets.push(value)
      return targets.indexOf(value)
    })
    if (!byText.has(text)) byText.set(text, schema)
  }
  return [...byText.values()]
}

/** Returns the value of a key, created if it is missing. */
export function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = create()
  map.set(key, value)
  return value
}
