import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import { toOneDocument } from '../model/document.ts'
import type { Keywords } from '../model/keywords.ts'
import type { FindReference } from '../model/references.ts'
import { indexReferences } from '../model/references.ts'

/** Keywords that ask for properties of the record as a whole. */
const OF_WHOLE_RECORDS: ReadonlySet<string> = new Set([
  'required',
  'minProperties',
  'default',
  '$id',
])

/** Keywords that count at the top of a schema alone, also where its own reference is written apart. */
const OF_DOCUMENTS: ReadonlySet<string> = new Set(['$id', '$schema', '$defs', 'definitions'])

/** The name of the schema of whole records inside the one of a patch. */
const WHOLE_RECORD = 'wholeRecord'

/**
 * Returns the schema of the data of a patch: that of a whole record, of which nothing is required and no
 * default is set. A property that is itself an object is replaced by a patch as a whole, so its own
 * schema stays as it is.
 */
export function toPatchSchema(given: JSONSchema): JSONSchema {
  const schema = toOneDocument(given)
  if (!isObject(schema)) return schema
  const whole = hasRootReference(schema) ? separateRoot(schema) : schema
  const partial = toPartial(whole, indexReferences(whole), new Set()) as Keywords
  const ofDocument = Object.entries({ ...whole, $id: schema['$id'] }).filter(
    ([keyword, value]) => OF_DOCUMENTS.has(keyword) && value !== undefined,
  )
  return { ...partial, ...Object.fromEntries(ofDocument) }
}

/** Returns a schema in which a part that means the root, as trees have it, means a whole record still. */
function separateRoot(schema: Keywords): Keywords {
  const { $id: _id, ...record } = replaceRootReferences(schema) as Keywords
  const definitions = isObject(record['$defs']) ? record['$defs'] : {}
  return { ...record, $defs: { ...definitions, [WHOLE_RECORD]: record } }
}

function hasRootReference(schema: unknown): boolean {
  if (!isObject(schema)) return false
  return schema['$ref'] === '#' || Object.values(schema).some(hasRootReference)
}

function replaceRootReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(replaceRootReferences)
  if (!isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      const isRoot = keyword === '$ref' && value === '#'
      return [keyword, isRoot ? `#/$defs/${WHOLE_RECORD}` : replaceRootReferences(value)]
    }),
  )
}

type Change = (value: unknown, toInner: (schema: unknown) => unknown) => readonly [string, unknown]

/** How the keywords whose schemas hold for the record itself are changed. */
const CHANGES: ReadonlyMap<string, Change> = new Map<string, Change>([
  ['properties', (value) => ['properties', mapSchemas(value, withoutDefault)]],
  ['allOf', (value, toInner) => ['allOf', mapList(value, toInner)]],
  ['anyOf', (value, toInner) => ['anyOf', mapList(value, toInner)]],
  // Where nothing is required, a patch may fit several of the kinds that a record has one of.
  ['oneOf', (value, toInner) => ['anyOf', mapList(value, toInner)]],
  ['then', (value, toInner) => ['then', toInner(value)]],
  ['else', (value, toInner) => ['else', toInner(value)]],
  ['dependentSchemas', (value, toInner) => ['dependentSchemas', mapSchemas(value, toInner)]],
])

function toPartial(
  schema: unknown,
  findReference: FindReference,
  above: ReadonlySet<unknown>,
): unknown {
  if (!isObject(schema) || above.has(schema)) return schema
  const toInner = (inner: unknown) => toPartial(inner, findReference, new Set([...above, schema]))
  const { $ref, ...keywords } = schema
  const partial = Object.fromEntries(
    Object.entries(keywords).flatMap(([keyword, value]) =>
      OF_WHOLE_RECORDS.has(keyword)
        ? []
        : [CHANGES.get(keyword)?.(value, toInner) ?? [keyword, value]],
    ),
  )
  if (typeof $ref !== 'string') return partial
  const meant = findReference($ref)
  if (meant === undefined) return { ...partial, $ref }
  return { allOf: [partial, toInner(meant)] }
}

function mapList(value: unknown, change: (schema: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map(change) : value
}

function mapSchemas(value: unknown, change: (schema: unknown) => unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, change(schema)]))
}

function withoutDefault(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  const { default: _default, ...keywords } = schema
  return keywords
}
