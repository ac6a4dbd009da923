import type { Static, TOptional, TSchema, TUnsafe } from 'typebox'
import { Type } from 'typebox'

import { isPlainObject } from '../../value-kind.ts'
import type { EntityProperties } from './entity-properties.ts'
import { isSchema, readEntity } from './entity-properties.ts'
import type {
  OperatorSchemas,
  PropertyQueries,
  PropertyQuery,
  QueryExtensions,
} from './query-type.ts'
import { mayBeObject, toUnion, toValueSchemas } from './query-value.ts'

/** The schema of an object, whose properties are read. */
export type ObjectSchema =
  | (TSchema & { readonly properties: object })
  | (TSchema & { readonly allOf: readonly object[] })

/** Schemas of properties by name. */
export type PropertySchemas = Readonly<Record<string, TSchema>>

const EQUALITY = ['$eq', '$ne']
const ORDER = ['$gt', '$gte', '$ge', '$lt', '$lte', '$le']
const LISTS = ['$in', '$nin']

/**
 * Returns the schema of the condition on a property: a value, or an object of the operators `$eq $ne
 * $gt $gte $lt $lte $in $nin` and the further ones. Defaults are left out. A list is compared by an
 * item or as a whole. `null` is a value where the schema allows it, or is optional.
 * @param extensions further operators with the schemas of their values: `{ $regex: Type.String() }`
 * @throws {TypeError} an extension is no schema
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
 * Returns the schema of an object with a condition on each property of a schema, as
 * {@link queryProperty} makes it, and with those of objects inside of it by their path. For a map of
 * properties it returns a map of conditions.
 * @param extensions further operators, by the property: `{ name: { $regex: Type.String() } }`
 * @throws {TypeError} the schema is not that of an object, or an extension is for no property
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
  if (top !== undefined) throw new TypeError(`${owner} takes no '${top}': querySyntax() does`)
  const queries = toPropertyQueries(owner, entity, extensions)
  if (entity.isMap) return queries
  return Type.Unsafe({ type: 'object', properties: queries, additionalProperties: false })
}

/**
 * Returns the conditions on the properties of an entity, by name.
 * @throws {TypeError} an extension is for no property
 */
export function toPropertyQueries(
  owner: string,
  { properties }: EntityProperties,
  extensions: QueryExtensions,
): Record<string, object> {
  for (const name of Object.keys(extensions)) {
    if (properties.has(name) || name.startsWith('$')) continue
    throw new TypeError(`${owner} has an extension for '${name}', which is no property`)
  }
  const entries = [...properties].map(([name, property]): [string, object] => [
    name,
    toPropertyQuery(owner, property, Object.hasOwn(extensions, name) ? extensions[name] : {}),
  ])
  return Object.fromEntries(entries)
}

function toPropertyQuery(
  owner: string,
  { schema, isOptional }: { readonly schema: TSchema; readonly isOptional: boolean },
  extensions: unknown = {},
): object {
  if (!isPlainObject(extensions) || !Object.values(extensions).every(isSchema)) {
    throw new TypeError(`${owner} takes operators with their schemas, { $regex: Type.String() }`)
  }
  const plain = Object.keys(extensions).find((name) => !name.startsWith('$'))
  if (plain !== undefined) {
    throw new TypeError(`${owner} has an operator '${plain}': did you mean '$${plain}'?`)
  }
  const { ordered, equal } = toValueSchemas(schema, isOptional)
  const list = { type: 'array', items: toUnion(equal) }
  const operators = {
    ...Object.fromEntries(EQUALITY.map((name) => [name, toUnion(equal)])),
    ...Object.fromEntries(ORDER.map((name) => [name, toUnion(ordered)])),
    ...Object.fromEntries(LISTS.map((name) => [name, list])),
    ...extensions,
  }
  const query = { type: 'object', properties: operators, additionalProperties: false }
  // Where an object may be a value, one with operators in it might be taken for that.
  return { anyOf: mayBeObject(schema) ? [query, ...equal] : [...equal, query] }
}
