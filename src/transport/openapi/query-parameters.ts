import type { JSONSchema } from '../../core/services/service-schemas.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import type { Parameter, SchemaComponents } from './schema-components.ts'

/** What a query may hold, by which kind of call. */
export type QueryUse = 'list' | 'record' | 'new'

/** What `$names` mean, in words. */
const DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ['$limit', 'How many records at most.'],
  ['$skip', 'How many records to leave out at the start.'],
  ['$sort', 'Fields to sort by, the first one first: 1 upwards, -1 downwards.'],
  ['$select', 'The fields to return; the id always is, and all others are left out.'],
  ['$or', 'Conditions of which one has to hold, in brackets: `$or[0][name]=a&$or[1][name]=b`.'],
  ['$and', 'Conditions that all have to hold, in brackets: `$and[0][name]=a&$and[1][age]=3`.'],
])

/** What services without a query schema are asked mostly. */
const USUAL_QUERY: JSONSchema = {
  type: 'object',
  properties: {
    $limit: { type: 'integer', minimum: 0 },
    $skip: { type: 'integer', minimum: 0 },
    $sort: { type: 'object', additionalProperties: { type: 'integer', enum: [1, -1] } },
    $select: { type: 'array', items: { type: 'string' } },
  },
}

/** Names that say something of lists only. */
const FOR_LISTS: ReadonlySet<string> = new Set(['$limit', '$skip', '$sort'])

/** Returns the parameters of a query, by its schema. Without a schema they are the usual ones. */
export function toQueryParameters(
  components: SchemaComponents,
  name: string,
  schema: JSONSchema | undefined,
  use: QueryUse,
): Parameter[] {
  const query = collectProperties(schema, schema)
  const { properties, required } =
    query.properties.size === 0 && schema !== false && !isClosed(schema)
      ? collectProperties(USUAL_QUERY, USUAL_QUERY)
      : query
  return [...properties]
    .filter(([key]) => isUsed(key, use))
    .map(([key, property]) => {
      const whole = withDefinitions(property, schema)
      const description = DESCRIPTIONS.get(key)
      return {
        name: key,
        in: 'query',
        ...(required.has(key) ? { required: true } : {}),
        ...(description === undefined ? {} : { description }),
        ...toStyle(property, schema),
        ...(required.has(key) ? {} : toExample(key, collectKinds(property, schema))),
        schema: components.inline(`${name}${toPart(key)}`, whole),
      }
    })
}

function isUsed(key: string, use: QueryUse): boolean {
  if (use === 'new') return key === '$select'
  return use === 'list' || !FOR_LISTS.has(key)
}

function isClosed(schema: JSONSchema | undefined): boolean {
  return isPlainObject(schema) && schema['additionalProperties'] === false
}

/**
 * Objects stand in brackets, `area[$gt]=5`, and lists repeat the name. A field that may be either a
 * value or an object of operators is written as an object: clients write a value as `area=5` then too.
 */
function toStyle(
  property: JSONSchema,
  root: JSONSchema | undefined,
): Pick<Parameter, 'style' | 'explode'> {
  const kinds = collectKinds(property, root)
  if (kinds.has('object')) return { style: 'deepObject', explode: true }
  return kinds.has('array') ? { style: 'form', explode: true } : {}
}

/** The names of lists of conditions. */
const LOGICAL: ReadonlySet<string> = new Set(['$or', '$and'])

/**
 * What forms to fill in begin with: nothing. Made up from the schema, they would sort by every field and
 * have conditions that no record fits. Fields that may be a plain value begin empty anyway.
 */
function toExample(key: string, kinds: ReadonlySet<unknown>): Pick<Parameter, 'example'> {
  if (LOGICAL.has(key)) return { example: [] }
  const isObject = kinds.has('object') && [...kinds].every((kind) => OBJECT_KINDS.has(kind))
  return isObject ? { example: {} } : {}
}

/** The kinds of a value that is an object, where it is there at all. */
const OBJECT_KINDS: ReadonlySet<unknown> = new Set(['object', 'null', undefined])

function collectKinds(schema: JSONSchema, root: JSONSchema | undefined): ReadonlySet<unknown> {
  const resolved = resolveReference(schema, root)
  if (!isPlainObject(resolved)) return new Set()
  const { type, anyOf, oneOf, allOf } = resolved
  const own = 'properties' in resolved ? ['object'] : []
  const parts = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []))
  return new Set([
    ...own,
    ...[type].flat(),
    ...parts.flatMap((part: JSONSchema) => [...collectKinds(part, root)]),
  ])
}

interface Properties {
  readonly properties: Map<string, JSONSchema>
  readonly required: Set<string>
}

/** Collects the properties of a schema, those of schemas that it is put together of as well. */
function collectProperties(
  schema: JSONSchema | undefined,
  root: JSONSchema | undefined,
): Properties {
  const found: Properties = { properties: new Map(), required: new Set() }
  const resolved = resolveReference(schema, root)
  if (!isPlainObject(resolved)) return found
  const { properties, required, allOf } = resolved
  for (const part of Array.isArray(allOf) ? allOf : []) {
    const inner = collectProperties(part as JSONSchema, root)
    for (const [key, value] of inner.properties) found.properties.set(key, value)
    for (const key of inner.required) found.required.add(key)
  }
  for (const [key, value] of isObject(properties) ? Object.entries(properties) : []) {
    found.properties.set(key, value as JSONSchema)
  }
  for (const key of Array.isArray(required) ? required : []) found.required.add(String(key))
  return found
}

const DEFINITION = /^#\/\$defs\/([^/]+)$/

function resolveReference(
  schema: JSONSchema | undefined,
  root: JSONSchema | undefined,
): JSONSchema | undefined {
  const reference = isPlainObject(schema) ? schema['$ref'] : undefined
  const [, name] = DEFINITION.exec(String(reference)) ?? []
  if (name === undefined) return schema
  const definitions = getDefinitions(root) ?? {}
  const key = decodeURIComponent(name)
  return Object.hasOwn(definitions, key) ? (definitions[key] as JSONSchema) : undefined
}

/** A part of a schema takes along what it may refer to. */
function withDefinitions(property: JSONSchema, root: JSONSchema | undefined): JSONSchema {
  const definitions = getDefinitions(root)
  if (definitions === undefined || !JSON.stringify(property).includes('#/$defs/')) return property
  return { ...(property as object), $defs: definitions }
}

function getDefinitions(root: JSONSchema | undefined): Record<string, unknown> | undefined {
  const definitions = isPlainObject(root) ? root['$defs'] : undefined
  return isObject(definitions) ? definitions : undefined
}

function toPart(key: string): string {
  const word = key.replace(/[^A-Za-z0-9]+/g, '')
  return `Query${word.slice(0, 1).toUpperCase()}${word.slice(1)}`
}
