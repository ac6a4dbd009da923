import type { DataSchema, JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import { hasKeywords, mapSchema, toPrefixItems } from '../model/keywords.ts'
import { isStandardSchema } from '../validation/standard-schema.ts'

/** What values are over HTTP that a keyword converts. */
const STRINGS: ReadonlyMap<string, Keywords> = new Map([
  ['objectid', { type: 'string', pattern: '^[0-9a-fA-F]{24}$' }],
  ['date', { type: 'string', format: 'date-time' }],
])

/** Keywords that say how a value is described, and nothing of itself. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['title', 'description', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['example', 'externalDocs', 'xml'],
])

/**
 * Returns a copy of a schema as it holds for what is sent over HTTP, in standard keywords alone: ids
 * of MongoDB and dates are strings there.
 */
export function toWireSchema(schema: JSONSchema): JSONSchema {
  return toWire(schema) as JSONSchema
}

function toWire(schema: unknown): unknown {
  if (!hasKeywords(schema)) return schema
  for (const [keyword, string] of STRINGS) {
    if (schema[keyword] === true) return { ...toAnnotations(schema), ...string }
  }
  const copy = mapSchema(withNullType(toPrefixItems(schema)), toWire)
  for (const keyword of STRINGS.keys()) delete copy[keyword]
  return mergeAlternatives(copy)
}

/** OpenAPI 3.1 and JSON Schema have no `nullable`, which Ajv knows from OpenAPI 3.0. */
function withNullType({ nullable, ...schema }: Keywords): Keywords {
  const types = [schema['type']].flat()
  if (nullable !== true || types.includes('null')) return schema
  return { ...schema, type: [...types, 'null'] }
}

/** A choice between forms that are the same string over HTTP is that string. */
function mergeAlternatives(schema: Record<string, unknown>): unknown {
  const { anyOf, ...others } = schema
  if (!Array.isArray(anyOf)) return schema
  const texts = new Map(anyOf.map((one) => [JSON.stringify(one), one]))
  const [only] = texts.values()
  if (texts.size > 1 || !hasKeywords(only)) return { ...others, anyOf: [...texts.values()] }
  return { ...only, ...others }
}

function toAnnotations(schema: Keywords): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).filter(([name]) => ANNOTATIONS.has(name) || name.startsWith('x-')),
  )
}

/**
 * Returns what is known of data over HTTP. Of a schema of another library that is the JSON Schema that it
 * gives, else any value.
 * @see https://standardschema.dev/json-schema
 */
export function toPublicSchema(schema: DataSchema): JSONSchema {
  if (!isStandardSchema(schema)) return withOptionalDefaults(toWireSchema(schema)) as JSONSchema
  const { jsonSchema } = schema['~standard'] as { readonly jsonSchema?: unknown }
  const toInput = isObject(jsonSchema) ? jsonSchema['input'] : undefined
  if (typeof toInput !== 'function') return true
  try {
    return toInput.call(jsonSchema, { target: 'draft-2020-12' })
  } catch {
    // Of a Date or a function that checks, there is no JSON Schema.
    return true
  }
}

/** Keywords that close an object by `false`. */
const CLOSING: readonly string[] = ['additionalProperties', 'unevaluatedProperties']

/** Returns a copy of a schema that says nothing of the fields that it does not name: they are left out. */
export function toOpenSchema(schema: JSONSchema): JSONSchema {
  return toOpen(schema) as JSONSchema
}

function toOpen(schema: unknown): unknown {
  if (!hasKeywords(schema)) return schema
  const open = Object.entries(schema).filter(
    ([keyword, value]) => value !== false || !CLOSING.includes(keyword),
  )
  return mapSchema(Object.fromEntries(open), toOpen)
}

/** Callers may leave out what has a default. */
function withOptionalDefaults(schema: unknown): unknown {
  if (!hasKeywords(schema)) return schema
  const copy = mapSchema(schema, withOptionalDefaults)
  const { properties, required } = copy
  if (!hasKeywords(properties) || !Array.isArray(required)) return copy
  const hasDefault = (name: unknown): boolean => {
    const property = properties[String(name)]
    return hasKeywords(property) && property['default'] !== undefined
  }
  return { ...copy, required: required.filter((name) => !hasDefault(name)) }
}
