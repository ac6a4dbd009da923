import type { JSONSchema } from '../../services/service-schemas.ts'
import type { Keywords } from '../model/keywords.ts'
import { createCopier, hasKeywords, mapSchema } from '../model/keywords.ts'
import { toRecordSchema } from '../model/references.ts'

/** Keywords that ask for properties of the record as a whole. */
const OF_WHOLE_RECORDS: ReadonlySet<string> = new Set([
  'required',
  'minProperties',
  'default',
  '$id',
])

/** Keywords whose schemas hold for the record itself, and are changed as it is. */
const SAME_RECORD: ReadonlySet<string> = new Set([
  ...['$ref', 'allOf', 'anyOf', 'oneOf', 'then', 'else', 'dependentSchemas', 'dependencies'],
])

/**
 * Returns the schema of the data of a patch: that of a whole record, of which nothing is required and no
 * default is set. A property that is itself an object is replaced by a patch as a whole, so its own
 * schema stays as it is; a part that means the record, as trees have it, means a whole record still.
 */
export function toPatchSchema(schema: JSONSchema): JSONSchema {
  if (!hasKeywords(schema)) return schema
  const { $id } = schema
  const partial = toPartial(toRecordSchema(schema)) as Keywords
  return $id === undefined ? partial : { ...partial, $id }
}

function toPartial(record: Keywords): unknown {
  const toInner = createCopier((schema) => {
    const kept = Object.entries(schema).filter(([keyword]) => !OF_WHOLE_RECORDS.has(keyword))
    const { oneOf, ...partial } = mapSchema(Object.fromEntries(kept), (inner, keyword) => {
      if (keyword === 'properties') return withoutDefault(inner)
      return SAME_RECORD.has(keyword) ? toInner(inner) : inner
    })
    // Where nothing is required, a patch may fit several of the kinds that a record has one of.
    return oneOf === undefined ? partial : { ...partial, anyOf: oneOf }
  })
  return toInner(record)
}

function withoutDefault(schema: unknown): unknown {
  if (!hasKeywords(schema) || schema['default'] === undefined) return schema
  const { default: _default, ...keywords } = schema
  return keywords
}
