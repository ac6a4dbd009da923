import type { Keywords } from '../../core/schema/model/keywords.ts'
import { ALTERNATIVES, toNamedSchemas } from '../../core/schema/model/keywords.ts'
import { SchemaModel } from '../../core/schema/model/places.ts'
import type { QueryUse } from '../../core/schema/queries/described-names.ts'
import { describeName, isTaken, PAGING_SCHEMAS } from '../../core/schema/queries/described-names.ts'
import type { JSONSchema } from '../../core/services/service-schemas.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { Components, Parameter } from './components.ts'
import { capitalize } from './components.ts'

/** The usual query parameters of services without a query schema. */
const USUAL_QUERY: Keywords = {
  type: 'object',
  properties: { ...PAGING_SCHEMAS, $select: { type: 'array', items: { type: 'string' } } },
}

/** The types of an optional value that is an object. */
const OBJECT_KINDS: ReadonlySet<unknown> = new Set(['object', 'null', undefined])

/** Returns the parameters of a query, by its schema. Without a schema they are the usual ones. */
export function toQueryParameters(
  components: Components,
  name: string,
  schema: JSONSchema | undefined,
  use: QueryUse,
): Parameter[] {
  const root = isPlainObject(schema) ? schema : {}
  const own = toProperties(new SchemaModel(root, ['$ref', 'allOf']).root.parts)
  const isClosed = schema === false || root['additionalProperties'] === false
  const { properties, required } =
    own.properties.size === 0 && !isClosed ? toProperties([USUAL_QUERY]) : own
  const model = new SchemaModel(root, ['$ref', ...ALTERNATIVES, 'allOf'])
  return [...properties]
    .filter(([key]) => isTaken(key, use))
    .map(([key, property]) => {
      const kinds = toKinds(model.place([property]).parts)
      const description = describeName(key)?.description
      const part = `${name}Query${capitalize(key.replace(/[^A-Za-z0-9]+/g, ''))}`
      return {
        name: key,
        in: 'query',
        ...(required.has(key) ? { required: true } : {}),
        ...(description === undefined ? {} : { description }),
        ...toStyle(kinds),
        ...(required.has(key) ? {} : toExample(key, kinds)),
        schema: components.inline(part, property),
      }
    })
}

/**
 * Objects stand in brackets, `area[$gt]=5`, and lists repeat the name. A field that may be either a
 * value or an object of operators is written as an object: clients write a value as `area=5` then too.
 */
function toStyle(kinds: ReadonlySet<unknown>): Pick<Parameter, 'style' | 'explode'> {
  if (kinds.has('object')) return { style: 'deepObject', explode: true }
  return kinds.has('array') ? { style: 'form', explode: true } : {}
}

/**
 * Examples to start with in forms: empty. Generated from the schema, they would sort by every field and have conditions
 * that no record matches. Fields that may be a plain value start empty anyway.
 */
function toExample(key: string, kinds: ReadonlySet<unknown>): Pick<Parameter, 'example'> {
  if (key === '$or' || key === '$and') return { example: [] }
  const isObject = kinds.has('object') && [...kinds].every((kind) => OBJECT_KINDS.has(kind))
  return isObject ? { example: {} } : {}
}

/** Returns the types that a value may have, `undefined` if a part of its schema names none. */
function toKinds(parts: readonly Keywords[]): ReadonlySet<unknown> {
  const all = parts.flatMap((part) => {
    return [...('properties' in part ? ['object'] : []), ...[part['type']].flat()]
  })
  return new Set(all)
}

/** Returns the properties of an object from the parts of its schema, and which of them are required. */
function toProperties([own = {}, ...parts]: readonly Keywords[]): {
  readonly properties: ReadonlyMap<string, JSONSchema>
  readonly required: ReadonlySet<unknown>
} {
  const all = [...parts, own]
  const entries = all.flatMap(({ properties }) => Object.entries(toNamedSchemas(properties)))
  const required = all.flatMap((part) => (Array.isArray(part['required']) ? part['required'] : []))
  return { properties: new Map(entries as [string, JSONSchema][]), required: new Set(required) }
}
