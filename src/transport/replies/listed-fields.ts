import { isSingleValue } from '../../core/value-kind.ts'
import type { SerializableSchema } from './serializable-schema.ts'

type Definitions = NonNullable<SerializableSchema['$defs']>

/** Is told the name of the field whose value is left out, or has items that are. */
export type LeftOut = (name: string) => void

/**
 * Returns a copy of a value with the fields that a schema names, as the serializer writes them. Dates,
 * ids and scalars stay as they are, also where the schema means another type; an object is left out
 * where it means a scalar, since no field of it is named.
 */
export function pickListed(
  value: unknown,
  schema: SerializableSchema,
  onLeftOut: LeftOut = () => undefined,
): unknown {
  return new Picking(schema.$defs ?? {}, onLeftOut).pick(value, schema, '')
}

class Picking {
  readonly #definitions: Definitions
  readonly #onLeftOut: LeftOut

  constructor(definitions: Definitions, onLeftOut: LeftOut) {
    this.#definitions = definitions
    this.#onLeftOut = onLeftOut
  }

  pick(value: unknown, given: SerializableSchema, name: string): unknown {
    if (typeof value !== 'object' || value === null || isSingleValue(value)) return value
    const { toJSON } = value as { toJSON?: unknown }
    const schema = resolveForm(given, this.#definitions)
    // Once, as JSON.stringify() does: it may return the object itself.
    if (typeof toJSON === 'function') return this.#pickPlain(toJSON.call(value), schema, name)
    return this.#pickPlain(value, schema, name)
  }

  #pickPlain(value: unknown, schema: SerializableSchema, name: string): unknown {
    if (typeof value !== 'object' || value === null) return value
    const form = findForm(value, schema)
    const { type, items = {} } = form
    if (type === undefined) return value
    if (Array.isArray(value)) {
      // A list where one record is meant has the fields of the record.
      const inner = type === 'array' ? items : form
      return value.map((item) => this.pick(item, inner, name))
    }
    if (type === 'array') return this.pick(value, items, name)
    if (type === 'object') return this.#pickFields(value, form)
    this.#onLeftOut(name)
    return undefined
  }

  #pickFields(value: object, schema: SerializableSchema): object {
    const entries = Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
      const inner = findFieldSchema(name, schema)
      return inner === undefined ? [] : [[name, this.pick(field, inner, name)]]
    })
    return Object.fromEntries(entries)
  }
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

/** Returns the schema of a field, `undefined` where the schema of its object does not name it. */
export function findFieldSchema(
  name: string,
  { properties = {}, patternProperties = {}, additionalProperties }: SerializableSchema,
): SerializableSchema | undefined {
  if (Object.hasOwn(properties, name)) return properties[name]
  const pattern = Object.keys(patternProperties).find((one) => new RegExp(one, 'u').test(name))
  return pattern === undefined ? additionalProperties : patternProperties[pattern]
}
