import type { Static, TSchema, TUnsafe } from 'typebox'
import { Type } from 'typebox'

import { isSchema, readEntity } from './entity-properties.ts'
import type { ObjectSchema, PropertySchemas } from './query-property.ts'
import { toPropertyQueries } from './query-property.ts'
import type { QueryExtensions, SyntaxQuery } from './query-type.ts'

/** Keywords of the schema of a query. */
export interface QuerySyntaxOptions {
  /** Whether other names may stand at the top of a query, or what their values are. Default: `false`. */
  readonly additionalProperties?: TSchema | boolean
  /** The name of the schema in Ajv. Default: none. */
  readonly $id?: string
  /** More keywords, a `title` for example. */
  readonly [keyword: string]: unknown
}

/** Keywords that say what the syntax says. */
const OWN_KEYWORDS = ['type', 'properties']

/** The names of a query that the syntax gives, by the names of the properties. */
type Syntax = Readonly<Record<string, object>>

/**
 * Returns the schema of the queries for records of a schema: conditions on the properties, as
 * `queryProperties` makes them, `$limit` and `$skip` from 0 on, `$sort` with 1 and -1, `$select` with
 * names of properties, and `$or` and `$and`, with one another inside. For a map of properties it
 * returns a map, to be spread into the `properties` of a schema.
 * @param entity the schema of an object, or a map of properties: `readEntity` tells which
 * @param extensions further operators, by the property, and further names at the top:
 *   `{ name: { $regex: Type.String() }, $search: Type.String() }`
 * @throws {TypeError} the schema is not that of an object, an extension is for no property, or an option
 *   is a keyword that the syntax sets
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
  if (own !== undefined) throw new TypeError(`${owner} sets '${own}' itself`)
  const entity = readEntity(owner, given)
  const queries = toPropertyQueries(owner, entity, extensions)
  const properties = {
    ...toSyntax([...entity.properties.keys()]),
    ...toLogical(queries),
    ...queries,
    ...toTop(owner, extensions),
  }
  if (entity.isMap) return properties
  return Type.Unsafe({
    type: 'object',
    additionalProperties: false,
    ...options,
    properties,
    ...entity.definitions,
  })
}

function toSyntax(names: readonly string[]): Syntax {
  const direction = { type: 'integer', enum: [1, -1] }
  return {
    $limit: { type: 'integer', minimum: 0 },
    $skip: { type: 'integer', minimum: 0 },
    $sort: toObject(Object.fromEntries(names.map((name) => [name, direction]))),
    $select: toListOf({ type: 'string', ...(names.length > 0 ? { enum: names } : {}) }, names),
  }
}

/**
 * Any condition can be written with `$and` inside of `$or`, or the other way round. Deeper ones would
 * need references, which do not lead anywhere in a schema that this one is put into.
 */
function toLogical(queries: Syntax): Syntax {
  const plain = toListOf(toObject(queries))
  return {
    $or: toListOf(toObject({ ...queries, $and: plain })),
    $and: toListOf(toObject({ ...queries, $or: plain })),
  }
}

function toTop(owner: string, extensions: QueryExtensions): Syntax {
  const entries = Object.entries(extensions).filter(([name]) => name.startsWith('$'))
  for (const [name, schema] of entries) {
    if (!isSchema(schema)) throw new TypeError(`${owner} takes a schema for '${name}'`)
  }
  return Object.fromEntries(entries)
}

function toObject(properties: Syntax): object {
  return { type: 'object', properties, additionalProperties: false }
}

function toListOf(items: object, names?: readonly string[]): object {
  return { type: 'array', items, ...(names === undefined ? {} : { maxItems: names.length }) }
}
