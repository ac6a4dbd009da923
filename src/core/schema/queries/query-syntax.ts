import type { Static, TOptional, TSchema, TUnsafe } from 'typebox'
import { Type } from 'typebox'
import { SchemaError } from '../../errors/setup-errors.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isPlainObject } from '../../value-kind.ts'
import { getOrAdd, someSchema } from '../model/keywords.ts'
import { writeReferences } from '../model/references.ts'
import { mayBeObject, toUnion, toValueSchemas } from './compared-values.ts'
import type { EntityProperties, EntityProperty } from './entity-properties.ts'
import { isSchema, readEntity } from './entity-properties.ts'
import type {
  OperatorSchemas,
  PropertyQueries,
  PropertyQuery,
  QueryExtensions,
  SyntaxQuery,
} from './query-type.ts'

/** Keywords of the schema of a query. */
export interface QuerySyntaxOptions {
  /** Whether a query may have other top-level names, or the schema of their values. Default: `false`. */
  readonly additionalProperties?: TSchema | boolean
  /** The name of the schema in Ajv. Default: none. */
  readonly $id?: string
  /** Other keywords, such as a `title`. */
  readonly [keyword: string]: unknown
}

/** Which total a page with cursors has. The string comes first, so that it is not converted to a boolean. */
const TOTAL = {
  anyOf: [
    { const: 'estimate' },
    { type: 'boolean' },
    toObject({ cap: { type: 'integer', minimum: 1 } }, ['cap']),
  ],
}

/** Keywords that the syntax sets. */
const OWN_KEYWORDS = ['type', 'properties']

/**
 * Returns the schema of queries for records of a schema: conditions on the properties, as in
 * `queryProperties`, non-negative `$limit` and `$skip`, `$after`, `$before` and `$total` of pages with
 * cursors, `$sort` with 1 and -1, `$select` with names of properties, and `$or` and `$and`, which may contain
 * each other. For a map of properties it returns a map, to be spread into the `properties` of a schema.
 * @param entity the schema of an object, or a map of properties: `readEntity` tells which
 * @param extensions additional operators by property, and additional top-level names:
 *   `{ name: { $regex: Type.String() }, $search: Type.String() }`
 * @throws {TypeError} the schema is not that of an object, an extension names no property, or an option is a
 *   keyword that the syntax sets
 */
export function querySyntax<
  const T extends ObjectSchema,
  X extends QueryExtensions = Record<never, never>,
>(entity: T, extensions?: X, options?: QuerySyntaxOptions): TUnsafe<SyntaxQuery<Static<T>, X>>
export function querySyntax<T extends PropertySchemas>(
  properties: T,
  extensions?: QueryExtensions,
): Record<string, TSchema>
export function querySyntax(
  given: ObjectSchema | PropertySchemas,
  extensions: QueryExtensions = {},
  options: QuerySyntaxOptions = {},
): TSchema {
  const owner = 'querySyntax()'
  const own = OWN_KEYWORDS.find((keyword) => Object.hasOwn(options, keyword))
  if (own !== undefined) throw new SchemaError(`${owner} sets '${own}' itself`)
  const entity = readEntity(owner, given)
  const properties = toQueries(owner, entity, extensions)
  if (entity.isMap) return properties
  const written = toWritten(properties, entity, options)
  const hasOwnParts = Object.keys({ ...extensions, ...options }).length > 0
  return hasOwnParts ? written : Object.defineProperty(written, ENTITY, { value: given })
}

/** The property in which a schema of queries keeps that of the records, if it follows entirely from it. */
const ENTITY: unique symbol = Symbol('remex.entity')

/** Returns the schema of the records that a schema of queries follows from, `null` if it says more. */
export function findQueriedEntity(query: JSONSchema): unknown {
  return (query as { readonly [ENTITY]?: unknown })[ENTITY] ?? null
}

/**
 * Returns the schema of the queries for records of a schema, both with linked references.
 * @throws {TypeError} the schema is not that of an object
 */
export function toDerivedQuery(record: object): JSONSchema {
  const owner = 'querySyntax()'
  const entity = readEntity(owner, record, true)
  return { ...toObject(toQueries(owner, entity, {})), ...entity.definitions }
}

function toQueries(
  owner: string,
  entity: EntityProperties,
  extensions: QueryExtensions,
): Record<string, object> {
  const queries = toPropertyQueries(owner, entity, extensions)
  const top = Object.entries(extensions).filter(([name]) => name.startsWith('$'))
  for (const [name, schema] of top) {
    if (!isSchema(schema)) throw new SchemaError(`${owner} takes a schema for '${name}'`)
  }
  const names = [...entity.properties.keys()]
  const direction = { type: 'integer', enum: [1, -1] }
  const name = { type: 'string', ...(names.length > 0 && { enum: names }) }
  // Any condition can be written with `$and` inside `$or`, or the other way round. Deeper nesting would need
  // references, which break when this schema is put into another one.
  const plain = toListOf(toObject(queries))
  return {
    $limit: { type: 'integer', minimum: 0 },
    $skip: { type: 'integer', minimum: 0 },
    $after: { type: 'string' },
    $before: { type: 'string' },
    $total: TOTAL,
    $sort: toObject(Object.fromEntries(names.map((one) => [one, direction]))),
    $select: { ...toListOf(name), maxItems: names.length },
    $or: toListOf(toObject({ ...queries, $and: plain })),
    $and: toListOf(toObject({ ...queries, $or: plain })),
    ...queries,
    ...Object.fromEntries(top),
  }
}

/** Returns the schema of an object with references by name, so that its author can put it into others. */
function toWritten(
  properties: Record<string, object>,
  { definitions }: EntityProperties,
  options: QuerySyntaxOptions = {},
): TSchema {
  const whole = { ...toObject(properties), ...options, ...definitions }
  // Linking names parts by anchors, which would clash in a schema that contains two of these.
  const isLinked = someSchema(
    whole,
    ({ $ref, $anchor }) => isPlainObject($ref) || $anchor !== undefined,
  )
  return Type.Unsafe(isLinked ? (writeReferences(whole) as object) : whole)
}

function toObject(properties: Record<string, unknown>, required?: readonly string[]): object {
  const whole = { type: 'object', properties, additionalProperties: false }
  return required === undefined ? whole : { ...whole, required }
}

function toListOf(items: unknown): object {
  return { type: 'array', items }
}

/** The schema of an object, whose properties are read. */
type ObjectSchema =
  | (TSchema & { readonly properties: object })
  | (TSchema & { readonly allOf: readonly object[] })

/** Schemas of properties by name. */
type PropertySchemas = Readonly<Record<string, TSchema>>

const EQUALITY = ['$eq', '$ne']
const ORDER = ['$gt', '$gte', '$ge', '$lt', '$lte', '$le']
const LISTS = ['$in', '$nin']

/**
 * Returns the schema of the condition on a property: a value, or an object of the operators
 * `$eq $ne $gt $gte $lt $lte $in $nin` and the additional ones. Defaults are omitted. A list is compared by
 * an item or as a whole. `null` is allowed if the schema allows it or is optional.
 * @param extensions additional operators with the schemas of their values: `{ $regex: Type.String() }`
 * @throws {TypeError} an extension is not a schema
 */
export function queryProperty<
  const T extends TSchema,
  X extends OperatorSchemas = Record<never, never>,
>(schema: T, extensions?: X): TOptional<TUnsafe<PropertyQuery<Static<T>, X>>> {
  const isOptional = Type.IsOptional(schema)
  const query = toPropertyQuery('queryProperty()', { schema, isOptional }, extensions)
  return Type.Optional(Type.Unsafe<PropertyQuery<Static<T>, X>>(query))
}

/**
 * Returns the schema of an object with a condition on each property of a schema, as in {@link queryProperty},
 * including nested properties by path. For a map of properties it returns a map of conditions.
 * @param extensions additional operators by property: `{ name: { $regex: Type.String() } }`
 * @throws {TypeError} the schema is not that of an object, or an extension names no property
 */
export function queryProperties<
  const T extends ObjectSchema,
  X extends QueryExtensions = Record<never, never>,
>(entity: T, extensions?: X): TUnsafe<PropertyQueries<Static<T>, X>>
export function queryProperties<T extends PropertySchemas>(
  properties: T,
  extensions?: QueryExtensions,
): { [Name in keyof T]: TSchema }
export function queryProperties(
  given: ObjectSchema | PropertySchemas,
  extensions: QueryExtensions = {},
): TSchema {
  const owner = 'queryProperties()'
  const entity = readEntity(owner, given)
  const top = Object.keys(extensions).find((name) => name.startsWith('$'))
  if (top !== undefined) throw new SchemaError(`${owner} takes no '${top}': querySyntax() does`)
  const queries = toPropertyQueries(owner, entity, extensions)
  return entity.isMap ? queries : toWritten(queries, entity)
}

/** @throws {TypeError} an extension names no property */
function toPropertyQueries(
  owner: string,
  { properties }: EntityProperties,
  extensions: QueryExtensions,
): Record<string, object> {
  for (const name of Object.keys(extensions)) {
    if (properties.has(name) || name.startsWith('$')) continue
    throw new SchemaError(`${owner} has an extension for '${name}', which is not a property`)
  }
  // Ajv generates code for each object, so properties of the same kind share one condition.
  const known = new Map<unknown, object>()
  const queries = [...properties].map(([name, property]) => {
    const query = Object.hasOwn(extensions, name)
      ? toPropertyQuery(owner, property, extensions[name])
      : getOrAdd(known, toKind(property), () => toPropertyQuery(owner, property))
    return [name, query] as const
  })
  return Object.fromEntries(queries)
}

/**
 * Returns a key that is equal for properties of the same kind: JSON for scalars. Any other property is its
 * own kind.
 */
function toKind(property: EntityProperty): unknown {
  const { schema, isOptional } = property
  const isScalar = Object.values(schema).flat().every(isJSONScalar)
  return isScalar ? JSON.stringify([isOptional, schema]) : property
}

function isJSONScalar(value: unknown): boolean {
  return value === null || Number.isFinite(value) || ['string', 'boolean'].includes(typeof value)
}

function toPropertyQuery(
  owner: string,
  { schema, isOptional }: { readonly schema: TSchema; readonly isOptional: boolean },
  extensions: unknown = {},
): object {
  if (!isPlainObject(extensions) || !Object.values(extensions).every(isSchema)) {
    throw new SchemaError(`${owner} takes operators with their schemas, { $regex: Type.String() }`)
  }
  const plain = Object.keys(extensions).find((name) => !name.startsWith('$'))
  if (plain !== undefined) {
    throw new SchemaError(`${owner} has an operator '${plain}': did you mean '$${plain}'?`)
  }
  const { ordered, equal } = toValueSchemas(schema, isOptional)
  const list = toListOf(toUnion(equal))
  const query = toObject({
    ...Object.fromEntries(EQUALITY.map((name) => [name, toUnion(equal)])),
    ...Object.fromEntries(ORDER.map((name) => [name, toUnion(ordered)])),
    ...Object.fromEntries(LISTS.map((name) => [name, list])),
    ...extensions,
  })
  // If an object may be a value, an object with operators might be mistaken for one.
  return { anyOf: mayBeObject(schema) ? [query, ...equal] : [...equal, query] }
}
