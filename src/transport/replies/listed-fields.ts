import { isSingleValue } from '../../core/value-kind.ts'
import type { SerializableSchema } from './serializable-schema.ts'

type Definitions = NonNullable<SerializableSchema['$defs']>

/**
 * Returns a copy of a value with the fields that a schema names, as the serializer writes them. Dates,
 * ids and scalars stay as they are, also where the schema means another type; an object is left out
 * where it means a scalar, since no field of it is named.
 */
export function pickListed(value: unknown, schema: SerializableSchema): unknown {
  return pick(value, schema, schema.$defs ?? {})
}

function pick(value: unknown, given: SerializableSchema, definitions: Definitions): unknown {
  if (typeof value !== 'object' || value === null || isSingleValue(value)) return value
  const { toJSON } = value as { toJSON?: unknown }
  const schema = resolveForm(given, definitions)
  // Once, as JSON.stringify() does: it may return the object itself.
  if (typeof toJSON === 'function') return pickPlain(toJSON.call(value), schema, definitions)
  return pickPlain(value, schema, definitions)
}

function pickPlain(value: unknown, schema: SerializableSchema, definitions: Definitions): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { type, items = {} } = findForm(value, schema)
  if (type === undefined) return value
  if (Array.isArray(value)) {
    // A list where one record is meant has the fields of the record.
    const inner = type === 'array' ? items : findForm(value, schema)
    return value.map((item) => pick(item, inner, definitions))
  }
  if (type === 'array') return pick(value, items, definitions)
  return type === 'object' ? pickFields(value, findForm(value, schema), definitions) : undefined
}

/** Returns the schema that a reference leads to. */
export function resolveForm(
  schema: SerializableSchema,
  definitions: Definitions,
): SerializableSchema {
  const { $ref } = schema
  return $ref === undefined ? schema : (definitions[$ref.slice('#/$defs/'.length)] ?? {})
}

/** Returns the one of several forms that an object or a list has, or comes closest to. */
export function findForm(value: object, schema: SerializableSchema): SerializableSchema {
  const { anyOf } = schema
  if (anyOf === undefined) return schema
  const [own, other] = Array.isArray(value) ? ['array', 'object'] : ['object', 'array']
  const find = (type: string | undefined): SerializableSchema | undefined =>
    anyOf.find((form) => form.type === type)
  return find(own) ?? find(undefined) ?? find(other) ?? anyOf[0] ?? {}
}

function pickFields(value: object, schema: SerializableSchema, definitions: Definitions): object {
  const entries = Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
    const inner = findFieldSchema(name, schema)
    return inner === undefined ? [] : [[name, pick(field, inner, definitions)]]
  })
  return Object.fromEntries(entries)
}

/** Returns the schema of a field, `undefined` where the schema of its object does not name it. */
export function findFieldSchema(
  name: string,
  { properties = {}, patternProperties = {}, additionalProperties }: SerializableSchema,
): SerializableSchema | undefined {
  if (Object.hasOwn(properties, name)) return properties[name]
  const pattern = Object.keys(patternProperties).find((one) => new RegExp(one, 'u').test(name))
  return pattern === undefined ? additionalProperties : patternProperties[pattern]
}
