import type { JSONSchema } from '../../services/service-schemas.ts'
import type { Keywords } from './keywords.ts'
import {
  createCopier,
  hasKeywords,
  listSchemas,
  mapSchema,
  NAMING,
  OTHER_PROPERTIES,
  POSSIBLE,
  SAME_VALUE,
} from './keywords.ts'
import { SchemaModel } from './places.ts'
import { toRecordSchema } from './references.ts'

/** Keywords whose schemas do not describe a sent value. */
const NO_VALUE = ['not', 'contains', 'propertyNames']

/**
 * Returns a copy of a schema in which every object is closed that does not say whether it takes additional
 * properties: undeclared fields are rejected. A part that occurs several times is also one object in the
 * copy.
 */
export function toClosedSchema(schema: JSONSchema): JSONSchema {
  if (!hasKeywords(schema)) return schema
  const model = new SchemaModel(schema)
  const describesObject = (keywords: Keywords): boolean => {
    const { parts } = model.place([keywords])
    return parts.some((part) => NAMING.some((keyword) => part[keyword] !== undefined))
  }
  const closeParts = (keywords: Keywords, closesWhole: (keyword: string) => boolean) =>
    mapSchema(keywords, (inner, keyword) => {
      if (NO_VALUE.includes(keyword)) return inner
      return SAME_VALUE.includes(keyword) && !closesWhole(keyword)
        ? closeInside(inner)
        : close(inner)
    })
  const close = createCopier((keywords) => {
    const isUnion = isOnlyUnion(keywords)
    const isJoined = describesTogether(keywords)
    // Each alternative of a union is closed on its own, so that its error names the field.
    const copy = closeParts(keywords, (keyword) => (keyword === '$ref' ? !isJoined : isUnion))
    const saysMore = OTHER_PROPERTIES.some((keyword) => keywords[keyword] !== undefined)
    if (isUnion || saysMore || !describesObject(keywords)) return copy
    if (isJoined) return { type: 'object', ...copy, unevaluatedProperties: false }
    return keywords['$ref'] === undefined ? { ...copy, additionalProperties: false } : copy
  })
  /** Closes the objects inside a value, and leaves the value itself open for others to close. */
  const closeInside = createCopier((keywords) => closeParts(keywords, () => false))
  return close(schema) as Keywords
}

/** Whether a value is described by several schemas together. */
function describesTogether(keywords: Keywords): boolean {
  if (keywords['$ref'] !== undefined && keywords['properties'] !== undefined) return true
  return SAME_VALUE.some(
    (keyword) => keyword !== '$ref' && listSchemas(keywords, keyword).length > 0,
  )
}

/** Whether a schema is only a choice of others. */
function isOnlyUnion(schema: Keywords): boolean {
  const isChoice = schema['anyOf'] !== undefined || schema['oneOf'] !== undefined
  const describesMore = ['properties', 'allOf', '$ref'].some((name) => schema[name] !== undefined)
  return isChoice && !describesMore
}

/**
 * Returns the schema of the data of a patch: that of a record, without required properties and defaults. A
 * patch replaces a nested object as a whole, so the schema of such a property stays as it is; a part that
 * refers to the record itself, as in trees, still means a whole record.
 */
export function toPatchSchema(schema: JSONSchema): JSONSchema {
  if (!hasKeywords(schema)) return schema
  const toPartial = createCopier((record) => {
    const kept = Object.entries(record).filter(([keyword]) => !OF_WHOLE_RECORDS.includes(keyword))
    const { oneOf, ...partial } = mapSchema(Object.fromEntries(kept), (inner, keyword) => {
      if (keyword === 'properties') return withoutDefault(inner)
      return POSSIBLE.includes(keyword) ? toPartial(inner) : inner
    })
    // Without required properties, a patch may fit several alternatives, while a record fits only one.
    return oneOf === undefined ? partial : { ...partial, anyOf: oneOf }
  })
  const { $id } = schema
  const partial = toPartial(toRecordSchema(schema)) as Keywords
  return $id === undefined ? partial : { ...partial, $id }
}

/** Keywords about the properties of the whole record. */
const OF_WHOLE_RECORDS: readonly string[] = ['required', 'minProperties', 'default', '$id']

function withoutDefault(schema: unknown): unknown {
  if (!hasKeywords(schema) || schema['default'] === undefined) return schema
  const { default: _default, ...keywords } = schema
  return keywords
}
