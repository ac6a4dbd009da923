import { isPlainObject } from '../../value-kind.ts'
import {
  ALTERNATIVES,
  listSchemas,
  listValues,
  mapSchema,
  toPrefixItems,
  withoutRepeated,
} from '../model/keywords.ts'

/** What a property is compared with. Each list has schemas for values of different kinds. */
export interface ValueSchemas {
  /** For comparisons by order; for a list, an item. */
  readonly ordered: readonly unknown[]
  /** For comparisons by equality; for a list, also the whole list, and `null` if the value may be missing. */
  readonly equal: readonly unknown[]
}

/** Returns the schemas of the values that a property of a schema is compared with. */
export function toValueSchemas(schema: unknown, isOptional: boolean): ValueSchemas {
  const definition = close(toQuerySchema(schema))
  const items = toItems(definition)
  const values = toAlternatives(definition)
  // Has no type, because a converting Ajv turns an empty string into `null` for that type. Comes first,
  // because such an Ajv turns `null` into 0, `false` or the empty string.
  const absent = isOptional || isNullable(definition) ? [{ const: null }] : []
  return items === undefined
    ? { ordered: values, equal: [...absent, ...values] }
    : { ordered: [items], equal: [...absent, items, definition] }
}

/** Returns one schema for values that fit any of some schemas. */
export function toUnion(schemas: readonly unknown[]): unknown {
  return schemas.length === 1 ? schemas[0] : { anyOf: schemas }
}

/** Returns whether plain objects may be values of a schema. ObjectIds and dates do not count. */
export function mayBeObject(schema: unknown): boolean {
  if (!isPlainObject(schema)) return schema === true
  const { type, objectid, date, anyOf, oneOf, enum: values } = schema
  if (objectid === true || date === true) return false
  for (const list of [anyOf, oneOf]) if (Array.isArray(list)) return list.some(mayBeObject)
  if (type === undefined) return values === undefined && !Object.hasOwn(schema, 'const')
  return [type].flat().includes('object')
}

function toItems(definition: unknown): unknown {
  if (!isPlainObject(definition) || definition['type'] !== 'array') return undefined
  const { prefixItems = [], items } = toPrefixItems(definition)
  const kinds = [prefixItems, isPlainObject(items) || items === true ? items : []].flat()
  // The items of a tuple are often of the same kind.
  return kinds.length === 0 ? undefined : toUnion(withoutRepeated(kinds).map(close))
}

/** Returns the alternatives of a schema with no other keywords, with `null` last. */
function toAlternatives(definition: unknown): readonly unknown[] {
  if (!isPlainObject(definition)) return [definition]
  const { anyOf, ...others } = definition
  if (!Array.isArray(anyOf) || Object.keys(others).length > 0) return [definition]
  const isNull = (schema: unknown) => isPlainObject(schema) && schema['type'] === 'null'
  return [...anyOf.filter((schema) => !isNull(schema)), ...anyOf.filter(isNull)]
}

/** An object with operators is not a value, unless the schema allows any names. */
function close(schema: unknown): unknown {
  if (!isPlainObject(schema) || schema['properties'] === undefined) return schema
  return { additionalProperties: false, ...schema }
}

/** Returns a copy without defaults, which are for records, and without schema names, at all depths. */
function toQuerySchema(schema: unknown): unknown {
  if (!isPlainObject(schema)) return schema
  const { default: _default, $id: _id, $anchor: _anchor, ...keywords } = schema
  return mapSchema(keywords, (inner, keyword) =>
    keyword === '$ref' ? inner : toQuerySchema(inner),
  )
}

function isNullable(schema: unknown): boolean {
  if (!isPlainObject(schema)) return schema === true
  const isNull = schema['nullable'] === true || [schema['type']].flat().includes('null')
  if (isNull || listValues(schema)?.includes(null)) return true
  return ALTERNATIVES.some((keyword) => listSchemas(schema, keyword).some(isNullable))
}
