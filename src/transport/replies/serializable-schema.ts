import type { JSONSchema } from '../../core/service-schemas.ts'

type Keywords = Readonly<Record<string, unknown>>

/**
 * What a value may be when it is written: an object with its fields, a list, one of several, a scalar,
 * or with no keyword anything. Scalars and objects may be `null` everywhere.
 */
export interface SerializableSchema {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'boolean'
  readonly nullable?: true
  readonly format?: 'date-time'
  readonly properties?: Readonly<Record<string, SerializableSchema>>
  readonly patternProperties?: Readonly<Record<string, SerializableSchema>>
  /** What holds for fields that are not named; without it they are not written. */
  readonly additionalProperties?: SerializableSchema
  readonly items?: SerializableSchema
  readonly anyOf?: readonly SerializableSchema[]
  /** `#/$defs/Name`, a schema of the outermost one. */
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, SerializableSchema>>
}

/** The outermost schema, whose definitions are referred to. */
type Root = Keywords

/** What is known of the fields of an object. */
interface Fields {
  readonly properties: Keywords
  readonly patternProperties: Keywords
  /** What holds for all other fields; `false` where they are not sent. */
  readonly others: unknown
}

const ANY: SerializableSchema = {}

/** Of an integer the serializer would cut a fraction off. */
const SCALARS: Readonly<Record<string, SerializableSchema>> = {
  string: { type: 'string', nullable: true },
  number: { type: 'number', nullable: true },
  integer: { type: 'number', nullable: true },
  boolean: { type: 'boolean', nullable: true },
}

/** A Date is written faster by its format. */
const DATE: SerializableSchema = { type: 'string', nullable: true, format: 'date-time' }

/**
 * Returns the schema by which records are written: it names the fields, and demands nothing. A record
 * of which some fields were selected lacks others, and an old one has `null` where a string is meant;
 * both are sent as they are.
 */
export function toSerializableSchema(schema: JSONSchema): SerializableSchema {
  if (!isKeywords(schema)) return ANY
  const $defs = mapValues(toDefinitions(schema), (one) => toSerializable(one, schema))
  return { ...toSerializable(schema, schema), ...(Object.keys($defs).length > 0 && { $defs }) }
}

function toSerializable(schema: unknown, root: Root): SerializableSchema {
  if (!isKeywords(schema)) return ANY
  const name = toDefinitionName(schema)
  if (name !== undefined)
    return Object.hasOwn(toDefinitions(root), name) ? { $ref: `#/$defs/${name}` } : ANY
  const alternatives = toAlternatives(schema).map((one) => ({ one, fields: toFields(one, root) }))
  const others = alternatives.filter(({ fields }) => fields === undefined)
  const object = toFields(schema, root)
  if (others.length > 0 && object !== undefined) {
    return {
      anyOf: [toObject(object, root), ...others.map(({ one }) => toSerializable(one, root))],
    }
  }
  if (object !== undefined) return toObject(object, root)
  const [type, ...more] = toTypes(schema)
  if (type === undefined || more.length > 0) return ANY
  if (type === 'array') return toList(schema['items'], root)
  const isDate = type === 'string' && schema['format'] === 'date-time'
  return isDate ? DATE : (SCALARS[String(type)] ?? ANY)
}

function toObject(fields: Fields, root: Root): SerializableSchema {
  const { properties, patternProperties, others } = fields
  const map = (one: unknown): SerializableSchema => toSerializable(one, root)
  return {
    type: 'object',
    nullable: true,
    properties: mapValues(properties, map),
    patternProperties: mapValues(patternProperties, map),
    ...(others !== false && { additionalProperties: map(others) }),
  }
}

function toList(items: unknown, root: Root): SerializableSchema {
  if (!isKeywords(items) || Array.isArray(items)) return ANY
  return { type: 'array', nullable: true, items: toSerializable(items, root) }
}

/**
 * Returns the fields that an object may have, together those of all its parts and alternatives;
 * `undefined` where a schema names none.
 */
function toFields(schema: unknown, root: Root, seen: readonly unknown[] = []): Fields | undefined {
  if (!isKeywords(schema) || seen.includes(schema)) return undefined
  const { properties, patternProperties, additionalProperties, allOf } = schema
  const name = toDefinitionName(schema)
  const parts = [
    allOf ?? [],
    toAlternatives(schema),
    name === undefined ? [] : toDefinitions(root)[name],
  ]
  const known = parts.flat().flatMap((part) => toFields(part, root, [...seen, schema]) ?? [])
  const isOwn = [properties, patternProperties, additionalProperties].some(
    (one) => one !== undefined,
  )
  if (!isOwn && known.length === 0) return undefined
  const own: Fields = {
    properties: isKeywords(properties) ? properties : {},
    patternProperties: isKeywords(patternProperties) ? patternProperties : {},
    others: additionalProperties ?? false,
  }
  return known.reduce(joinFields, own)
}

function joinFields(first: Fields, second: Fields): Fields {
  return {
    properties: { ...second.properties, ...first.properties },
    patternProperties: { ...second.patternProperties, ...first.patternProperties },
    others: first.others === false ? second.others : first.others,
  }
}

/** The other forms that a value may have, without `null`. */
function toAlternatives({ anyOf, oneOf }: Keywords): unknown[] {
  const all = [anyOf ?? [], oneOf ?? []].flat()
  return all.filter((one) => !(isKeywords(one) && one['type'] === 'null'))
}

/** The types of a value, without `null`. */
function toTypes({ type }: Keywords): unknown[] {
  return [type ?? []].flat().filter((one) => one !== 'null')
}

function toDefinitions({ $defs, definitions }: Root): Keywords {
  return { ...(isKeywords(definitions) && definitions), ...(isKeywords($defs) && $defs) }
}

function toDefinitionName({ $ref }: Keywords): string | undefined {
  return typeof $ref === 'string'
    ? /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec($ref)?.[1]
    : undefined
}

function mapValues(
  schemas: Keywords,
  map: (one: unknown) => SerializableSchema,
): Record<string, SerializableSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, map(one)]))
}

function isKeywords(value: unknown): value is Keywords {
  return typeof value === 'object' && value !== null
}
