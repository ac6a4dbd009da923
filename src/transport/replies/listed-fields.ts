import type { SerializableSchema } from './serializable-schema.ts'

type Definitions = NonNullable<SerializableSchema['$defs']>

/**
 * Returns a copy of a value with the fields that a schema names, as the serializer writes them; other
 * values as they are.
 */
export function pickListed(value: unknown, schema: SerializableSchema): unknown {
  return pick(value, schema, schema.$defs ?? {})
}

function pick(value: unknown, schema: SerializableSchema, definitions: Definitions): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return pick(toJSON.call(value), schema, definitions)
  const { $ref, anyOf, type, items } = schema
  if ($ref !== undefined) {
    return pick(value, definitions[$ref.slice('#/$defs/'.length)] ?? {}, definitions)
  }
  const kind = Array.isArray(value) ? 'array' : 'object'
  if (anyOf !== undefined) {
    const form = anyOf.find((one) => one.type === kind) ?? anyOf.find((one) => isOpen(one))
    return form === undefined ? undefined : pick(value, form, definitions)
  }
  if (Array.isArray(value)) {
    return items === undefined ? value : value.map((item) => pick(item, items, definitions))
  }
  return type === 'object' ? pickFields(value, schema, definitions) : value
}

function pickFields(value: object, schema: SerializableSchema, definitions: Definitions): object {
  const entries = Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
    const inner = toFieldSchema(name, schema)
    return inner === undefined ? [] : [[name, pick(field, inner, definitions)]]
  })
  return Object.fromEntries(entries)
}

function toFieldSchema(name: string, schema: SerializableSchema): SerializableSchema | undefined {
  const { properties = {}, patternProperties = {}, additionalProperties } = schema
  if (Object.hasOwn(properties, name)) return properties[name]
  const pattern = Object.keys(patternProperties).find((one) => new RegExp(one, 'u').test(name))
  return pattern === undefined ? additionalProperties : patternProperties[pattern]
}

/** Whether a schema stands for any value, or another one that does. */
function isOpen({ type, anyOf }: SerializableSchema): boolean {
  return type === undefined && anyOf === undefined
}
