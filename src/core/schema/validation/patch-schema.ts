import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import { toRecordSchema } from '../model/document.ts'
import type { FindReference, Keywords } from '../model/keywords.ts'
import { hasKeywords, indexReferences, mapSchema } from '../model/keywords.ts'

/** Keywords that ask for properties of the record as a whole. */
const OF_WHOLE_RECORDS: ReadonlySet<string> = new Set([
  'required',
  'minProperties',
  'default',
  '$id',
])

/** Keywords that count at the top of a schema alone, also where its own reference is written apart. */
const OF_DOCUMENTS: ReadonlySet<string> = new Set(['$id', '$schema', '$defs', 'definitions'])

/**
 * Returns the schema of the data of a patch: that of a whole record, of which nothing is required and no
 * default is set. A property that is itself an object is replaced by a patch as a whole, so its own
 * schema stays as it is; a part that means the record, as trees have it, means a whole record still.
 */
export function toPatchSchema(schema: JSONSchema): JSONSchema {
  if (!hasKeywords(schema)) return schema
  const whole = toRecordSchema(schema)
  const partial = toPartial(whole, indexReferences(whole), new Set()) as Keywords
  const ofDocument = Object.entries({ ...whole, $id: schema['$id'] }).filter(
    ([keyword, value]) => OF_DOCUMENTS.has(keyword) && value !== undefined,
  )
  return { ...partial, ...Object.fromEntries(ofDocument) }
}

/** Keywords whose schemas hold for the record itself, and are changed as it is. */
const SAME_RECORD: ReadonlySet<string> = new Set([
  ...['allOf', 'anyOf', 'oneOf', 'then', 'else', 'dependentSchemas'],
])

function toPartial(
  schema: unknown,
  findReference: FindReference,
  above: ReadonlySet<unknown>,
): unknown {
  if (!isObject(schema) || above.has(schema)) return schema
  const toInner = (inner: unknown) => toPartial(inner, findReference, new Set([...above, schema]))
  const { $ref, ...keywords } = schema
  const kept = Object.entries(keywords).filter(([keyword]) => !OF_WHOLE_RECORDS.has(keyword))
  const { oneOf, ...partial } = mapSchema(Object.fromEntries(kept), (inner, keyword) => {
    if (keyword === 'properties') return withoutDefault(inner)
    return SAME_RECORD.has(keyword) ? toInner(inner) : inner
  })
  // Where nothing is required, a patch may fit several of the kinds that a record has one of.
  if (oneOf !== undefined) partial['anyOf'] = oneOf
  if (typeof $ref !== 'string') return partial
  const meant = findReference($ref)
  if (meant === undefined) return { ...partial, $ref }
  return { allOf: [partial, toInner(meant)] }
}

function withoutDefault(schema: unknown): unknown {
  if (!hasKeywords(schema)) return schema
  const { default: _default, ...keywords } = schema
  return keywords
}
