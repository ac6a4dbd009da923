import { isObject, isPlainObject } from '../../value-kind.ts'

/** The keywords of a JSON Schema; `undefined` for the ones that it lacks. */
export type Keywords = Readonly<Record<string, unknown>>

// The keywords that have schemas in them, by how they hold these.

/** One schema; `$ref` where references are linked. */
const SINGLE: ReadonlySet<string> = new Set([
  '$ref',
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['not', 'if', 'then', 'else'],
])
/** A list of schemas; `items` is one in drafts before 2020. */
const LISTS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
/** Schemas by their names. In `dependencies` of draft-07, names of properties may stand for one. */
const MAPS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies'],
  ...['$defs', 'definitions'],
])

/** Keywords with definitions, which hold for no value by themselves. */
export const DEFINITIONS: readonly string[] = ['$defs', 'definitions']

/** Keywords whose schemas hold for the value of the schema that they stand in. */
export const CERTAIN: readonly string[] = ['$ref', 'allOf']

/** Keywords with alternatives, one or more of which hold. */
export const ALTERNATIVES: readonly string[] = ['anyOf', 'oneOf']

/** All keywords whose schemas say something of the same value, in the order in which they count. */
export const SAME_VALUE: readonly string[] = [
  ...CERTAIN,
  ...ALTERNATIVES,
  ...['if', 'then', 'else', 'dependentSchemas', 'dependencies'],
]

/** Those of them whose schemas the value may have to fit: that of `if` only asks something. */
export const POSSIBLE: readonly string[] = SAME_VALUE.filter((keyword) => keyword !== 'if')

/** Keywords that name the properties of an object. */
export const NAMING: readonly string[] = ['properties', 'patternProperties']

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

/**
 * Returns the types of the values that a schema names by its `type`, else by its constants, none where any
 * value fits. Constants that are objects or lists are of the type `any`.
 */
export function listTypes(schema: Keywords): readonly string[] {
  return [schema['type'] ?? listValues(schema)?.map(toType) ?? []].flat().map(String)
}

function toType(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? 'any' : typeof value
}

/** Returns the schemas that a keyword has, in whatever shape. */
export function listSchemas(schema: Keywords, keyword: string): readonly unknown[] {
  const value = schema[keyword]
  if (value === undefined) return []
  if (!MAPS.has(keyword)) return [value].flat()
  return Object.values(toNamedSchemas(value)).filter((one) => !Array.isArray(one))
}

/** Returns what takes the place of a schema that belongs to a keyword of another one. */
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

/**
 * Returns a function that copies schemas, each once: what is the same object in several places is so in the
 * copy, and a schema that contains itself has a copy that does so.
 * @param change returns the keywords of the copy, whose inner schemas it has copied in turn
 */
export function createCopier(change: (schema: Keywords) => object): (schema: unknown) => unknown {
  const copies = new Map<Keywords, object>()
  return (schema) => {
    if (!hasKeywords(schema)) return schema
    const known = copies.get(schema)
    if (known !== undefined) return known
    const copy = {}
    // Before it has its keywords: they may lead back to it.
    copies.set(schema, copy)
    return Object.assign(copy, change(schema))
  }
}

/** Returns schemas without those that say the same as one before. */
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

/** Returns the value of a key, which is made where there is none yet. */
export function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = create()
  map.set(key, value)
  return value
}
