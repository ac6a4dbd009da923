import { isPlainObject } from '../../value-kind.ts'
import { mapSchema, toPrefixItems } from '../model/keywords.ts'

/** What a property is compared with. Each list has schemas for values of different kinds. */
export interface ValueSchemas {
  /** By its order: for a list, an item of it. */
  readonly ordered: readonly unknown[]
  /** By its equality: for a list, the whole of it as well, and `null` where there may be no value. */
  readonly equal: readonly unknown[]
}

/** Returns the schemas of what a property is compared with. */
export function toValueSchemas(schema: unknown, isOptional: boolean): ValueSchemas {
  const definition = close(toQuerySchema(schema))
  const items = toItems(definition)
  const values = toAlternatives(definition)
  // Without a type: of an empty string, an Ajv that converts makes `null` where a schema says that
  // type. In front of the others: of `null` it makes 0, `false` and the empty string.
  const absent = isOptional || isNullable(definition) ? [{ const: null }] : []
  return items === undefined
    ? { ordered: values, equal: [...absent, ...values] }
    : { ordered: [items], equal: [...absent, items, definition] }
}

/** Returns one schema for what any of some are for. */
export function toUnion(schemas: readonly unknown[]): unknown {
  return schemas.length === 1 ? schemas[0] : { anyOf: schemas }
}

/** Returns whether plain objects may be values of a schema. An ObjectId or a date is none. */
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
  const different = new Map(kinds.map((kind) => [JSON.stringify(kind), close(kind)]))
  return different.size === 0 ? undefined : toUnion([...different.values()])
}

/** Alternatives without anything beside them stand on their own, that of `null` last. */
function toAlternatives(definition: unknown): readonly unknown[] {
  if (!isPlainObject(definition)) return [definition]
  const { anyOf, ...others } = definition
  if (!Array.isArray(anyOf) || Object.keys(others).length > 0) return [definition]
  const isNull = (schema: unknown) => isPlainObject(schema) && schema['type'] === 'null'
  return [...anyOf.filter((schema) => !isNull(schema)), ...anyOf.filter(isNull)]
}

/** An object with operators in it is no value, where the schema does not allow any names. */
function close(schema: unknown): unknown {
  if (!isPlainObject(schema) || schema['properties'] === undefined) return schema
  return { additionalProperties: false, ...schema }
}

/** Returns a copy without defaults, which records get, and names of the schema, inside of it as well. */
function toQuerySchema(schema: unknown): unknown {
  if (!isPlainObject(schema)) return schema
  const { default: _default, $id: _id, $anchor: _anchor, ...keywords } = schema
  return mapSchema(keywords, toQuerySchema)
}

function isNullable(schema: unknown): boolean {
  if (!isPlainObject(schema)) return schema === true
  const { type, anyOf, oneOf, enum: values } = schema
  if (type === 'null' || schema['const'] === null || schema['nullable'] === true) return true
  if ([type, values].some((list) => Array.isArray(list) && hasNull(list))) return true
  return [anyOf, oneOf].some((list) => Array.isArray(list) && list.some(isNullable))
}

function hasNull(list: readonly unknown[]): boolean {
  return list.includes('null') || list.includes(null)
}
