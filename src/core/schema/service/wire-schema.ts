import type { DataSchema, JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import {
  createCopier,
  hasKeywords,
  mapSchema,
  OTHER_PROPERTIES,
  toPrefixItems,
  withoutRepeated,
} from '../model/keywords.ts'
import { isStandardSchema } from '../validation/standard-schema.ts'

/** The HTTP form of values that a keyword converts. */
const STRINGS: ReadonlyMap<string, Keywords> = new Map([
  ['objectid', { type: 'string', pattern: '^[0-9a-fA-F]{24}$' }],
  ['date', { type: 'string', format: 'date-time' }],
])

/** Keywords that only annotate a value. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['title', 'description', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['example', 'externalDocs', 'xml'],
])

/** Options for the schema of data over HTTP. */
interface DataOptions {
  /** Whether undeclared fields are dropped. */
  readonly dropsUnknown: boolean
}

/**
 * Returns a copy of a schema for its HTTP form, with only standard keywords: MongoDB ids and dates are
 * strings there.
 * @param data set for input: callers may omit fields with a default
 */
export function toWireSchema(schema: JSONSchema, data?: DataOptions): JSONSchema {
  const toWire = createCopier((given) => {
    for (const [keyword, string] of STRINGS) {
      if (given[keyword] === true) return { ...toAnnotations(given), ...string }
    }
    const keywords = data?.dropsUnknown ? withoutClosing(given) : given
    const copy = mapSchema(withNullType(toPrefixItems(keywords)), toWire)
    for (const keyword of STRINGS.keys()) delete copy[keyword]
    return mergeAlternatives(data === undefined ? copy : withOptionalDefaults(copy))
  })
  return toWire(schema) as JSONSchema
}

/** OpenAPI 3.1 and JSON Schema have no `nullable`, which Ajv knows from OpenAPI 3.0. */
function withNullType({ nullable, ...schema }: Keywords): Keywords {
  const types = [schema['type']].flat()
  if (nullable !== true || types.includes('null')) return schema
  return { ...schema, type: [...types, 'null'] }
}

/** Alternatives with the same string form over HTTP become that string. */
function mergeAlternatives(schema: Keywords): Keywords {
  const { anyOf, ...others } = schema
  if (!Array.isArray(anyOf)) return schema
  const different = withoutRepeated(anyOf)
  const [only] = different
  if (different.length > 1 || !hasKeywords(only)) return { ...others, anyOf: different }
  return { ...only, ...others }
}

function toAnnotations(schema: Keywords): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).filter(([name]) => ANNOTATIONS.has(name) || name.startsWith('x-')),
  )
}

/**
 * Returns the schema of data over HTTP. For a schema of another library, that is the JSON Schema that it
 * provides, else any value.
 * @see https://standardschema.dev/json-schema
 */
export function toPublicSchema(
  schema: DataSchema,
  options: DataOptions = { dropsUnknown: false },
): JSONSchema {
  if (!isStandardSchema(schema)) return toWireSchema(schema, options)
  const { jsonSchema } = schema['~standard'] as { readonly jsonSchema?: unknown }
  const toInput = isObject(jsonSchema) ? jsonSchema['input'] : undefined
  if (typeof toInput !== 'function') return true
  try {
    return toInput.call(jsonSchema, { target: 'draft-2020-12' })
  } catch {
    // A Date or a checking function has no JSON Schema.
    return true
  }
}

function withoutClosing(schema: Keywords): Keywords {
  const open = Object.entries(schema).filter(
    ([keyword, value]) => value !== false || !OTHER_PROPERTIES.includes(keyword),
  )
  return Object.fromEntries(open)
}

function withOptionalDefaults(schema: Keywords): Keywords {
  const { properties, required } = schema
  if (!hasKeywords(properties) || !Array.isArray(required)) return schema
  const hasDefault = (name: unknown): boolean => {
    const property = properties[String(name)]
    return hasKeywords(property) && property['default'] !== undefined
  }
  return { ...schema, required: required.filter((name) => !hasDefault(name)) }
}
