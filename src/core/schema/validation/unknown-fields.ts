import { findSchemaKeywords } from '../../schema-keywords.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject, isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../json-schema.ts'
import { hasKeywords } from '../map-schema.ts'
import type { FindReference } from '../schema-references.ts'
import { keywordDate } from './date-keyword.ts'
import type { PlaceSchemas, SchemaPlace } from './schema-places.ts'
import { createPlaces, toInPlace, toSchemas } from './schema-places.ts'

/** Which fields of the objects of a place no value may have. */
interface Fields {
  /** Whether the schemas of the place refuse a field, whatever its value and the other fields are. */
  isUnknown(name: string): boolean
  /** Whether an alternative takes any object, with whatever is in it. */
  readonly takesAny: boolean
}

/** A name that no schema has, and that no pattern is meant for. */
const ANY_NAME = '\0'

/** Keywords with alternatives, of which a value fits one. */
const ALTERNATIVES = ['anyOf', 'oneOf'] as const

/**
 * Returns a function that returns data without the fields that its schema refuses in any case, at every
 * depth; the data itself stays as it is. In a choice of schemas the fields of all of them are known: which
 * one is meant, the validation tells.
 */
export function createFieldDrop(schema: JSONSchema): (data: unknown) => unknown {
  if (!isObject(schema)) return (data) => data
  const root = createPlaces(schema, toFields)
  return (data) => dropUnknown(data, root)
}

function dropUnknown(data: unknown, place: SchemaPlace<Fields>): unknown {
  if (place.isUnknown || place.facts.takesAny) return data
  if (Array.isArray(data)) {
    const items = data.map((item, index) => dropUnknown(item, place.item(index)))
    return items.some((item, index) => item !== data[index]) ? items : data
  }
  if (!isPlainObject(data)) return data
  const all = Object.entries(data)
  const known = all
    .filter(([name]) => !place.facts.isUnknown(name))
    .map(([name, value]) => [name, dropUnknown(value, place.property(name))] as const)
  const isWhole =
    known.length === all.length && known.every(([name, value]) => data[name] === value)
  return isWhole ? data : Object.fromEntries(known)
}

function toFields({ given, parts, find }: PlaceSchemas): Fields {
  const rule = new FieldRule(find)
  const isUnknown = (name: string): boolean => given.every((schema) => rule.refuses(schema, name))
  const isChoice = parts.some((part) => ALTERNATIVES.some((keyword) => part[keyword] !== undefined))
  return { isUnknown, takesAny: isChoice && !isUnknown(ANY_NAME) }
}

/** Reads from schemas which fields they refuse. */
class FieldRule {
  readonly #find: FindReference
  readonly #patterns = new Map<string, RegExp>()

  constructor(find: FindReference) {
    this.#find = find
  }

  /** Whether an object with a field never fits a schema. */
  refuses(schema: unknown, name: string, above: readonly unknown[] = []): boolean {
    if (!hasKeywords(schema) || above.includes(schema)) return false
    if (!takesObjects(schema)) return true
    const isRefused = (one: unknown): boolean => this.refuses(one, name, [...above, schema])
    const { $ref, allOf } = schema
    if (schema['additionalProperties'] === false && !this.#names(schema, name)) return true
    if (schema['unevaluatedProperties'] === false && !this.#mayKnow(schema, name)) return true
    if (typeof $ref === 'string' && isRefused(this.#find($ref))) return true
    if (Array.isArray(allOf) && allOf.some(isRefused)) return true
    return ALTERNATIVES.some((keyword) => {
      const alternatives = schema[keyword]
      return Array.isArray(alternatives) && alternatives.every(isRefused)
    })
  }

  /** Whether a schema, or one in it that may hold for the same value, says something of a field. */
  #mayKnow(schema: unknown, name: string, above: readonly unknown[] = []): boolean {
    if (!hasKeywords(schema) || above.includes(schema)) return false
    if (this.#names(schema, name)) return true
    const { additionalProperties = false, unevaluatedProperties = false } = schema
    if (additionalProperties !== false || unevaluatedProperties !== false) return true
    const inPlace = toInPlace(schema, this.#find)
    return inPlace.some((one) => this.#mayKnow(one, name, [...above, schema]))
  }

  #names(schema: Keywords, name: string): boolean {
    if (Object.hasOwn(toSchemas(schema['properties']), name)) return true
    return Object.keys(toSchemas(schema['patternProperties'])).some((pattern) => {
      const regex = this.#patterns.get(pattern) ?? new RegExp(pattern, 'u')
      this.#patterns.set(pattern, regex)
      return regex.test(name)
    })
  }
}

/** Whether objects of JSON may fit a schema. */
function takesObjects(schema: Keywords): boolean {
  const { type } = schema
  if (type !== undefined && ![type].flat().includes('object')) return false
  const values = 'const' in schema ? [schema['const']] : schema['enum']
  if (Array.isArray(values) && !values.some(isObject)) return false
  // Ids and dates are strings in JSON.
  return ![keywordDate, ...findSchemaKeywords()].some(({ keyword }) => schema[keyword] === true)
}
