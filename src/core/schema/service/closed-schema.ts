import type { JSONSchema } from '../../service-schemas.ts'
import type { Keywords } from '../json-schema.ts'
import { hasKeywords, mapSchema } from './map-schema.ts'

/** Keywords by which an author says what holds for properties that are not named. */
const SAYS_MORE = ['additionalProperties', 'unevaluatedProperties', 'patternProperties']

/** Keywords whose schemas describe the same value as the schema that they stand in. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas']

/** Keywords whose schemas describe no value that is sent. */
const NO_VALUE = ['not', 'contains', 'propertyNames']

/** The definitions that are a part of another schema, as `#/$defs/Name`. */
type Parts = ReadonlySet<unknown>

/**
 * Returns a copy of a schema in which every object that says nothing of further properties has none:
 * a field that no schema names is refused.
 */
export function toClosedSchema(schema: JSONSchema): JSONSchema {
  return close(schema, findParts(schema)) as JSONSchema
}

function close(schema: unknown, parts: Parts): unknown {
  if (!hasKeywords(schema)) return schema
  const isUnion = isOnlyUnion(schema)
  const copy = mapSchema(schema, (inner, keyword, name) => {
    if (NO_VALUE.includes(keyword)) return inner
    const isPart = parts.has(`#/${keyword}/${name}`)
    // Each alternative of a union is closed by itself: its error names the field.
    const isSame = SAME_VALUE.includes(keyword) && !isUnion
    return isPart || isSame ? closeInside(inner, parts) : close(inner, parts)
  })
  const saysMore = SAYS_MORE.some((keyword) => schema[keyword] !== undefined)
  if (isUnion || saysMore || !describesObject(schema)) return copy
  const isJoined = SAME_VALUE.some((keyword) => schema[keyword] !== undefined)
  return { ...copy, [isJoined ? 'unevaluatedProperties' : 'additionalProperties']: false }
}

/** Closes the objects inside of what a schema describes, and leaves itself open for others to close. */
function closeInside(schema: unknown, parts: Parts): unknown {
  if (!hasKeywords(schema)) return schema
  return mapSchema(schema, (inner, keyword) => {
    if (NO_VALUE.includes(keyword)) return inner
    return SAME_VALUE.includes(keyword) ? closeInside(inner, parts) : close(inner, parts)
  })
}

/** Whether a schema is nothing but a choice of others. */
function isOnlyUnion(schema: Keywords): boolean {
  const isChoice = schema['anyOf'] !== undefined || schema['oneOf'] !== undefined
  return isChoice && schema['properties'] === undefined && schema['allOf'] === undefined
}

function describesObject(schema: unknown): boolean {
  if (!hasKeywords(schema)) return false
  if (schema['properties'] !== undefined) return true
  return SAME_VALUE.some((keyword) => [schema[keyword]].flat().some(describesObject))
}

/** Finds what is referred to where a part of a value is described. */
function findParts(schema: unknown, parts: Set<unknown> = new Set()): Parts {
  if (!hasKeywords(schema)) return parts
  const isUnion = isOnlyUnion(schema)
  mapSchema(schema, (inner, keyword) => {
    const isPart = SAME_VALUE.includes(keyword) && !isUnion && hasKeywords(inner)
    if (isPart && inner['$ref'] !== undefined) parts.add(inner['$ref'])
    findParts(inner, parts)
    return inner
  })
  return parts
}
