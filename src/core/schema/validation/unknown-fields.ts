import { isObject, isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import {
  ALTERNATIVES,
  CERTAIN,
  hasKeywords,
  listSchemas,
  listValues,
  OTHER_PROPERTIES,
} from '../model/keywords.ts'
import type { Place, SchemaModel } from '../model/places.ts'
import { namesProperty, oncePerPlace } from '../model/places.ts'
import { isConverted } from './ajv.ts'

/** A name that no schema has, and that no pattern is meant to match. */
const ANY_NAME = '\0'

/**
 * Returns a function that returns data without the fields that its schema can never accept, at every depth;
 * the data itself is not changed. In a choice of schemas, the fields of all are known: the validation decides
 * which one applies.
 */
export function createFieldDrop(model: SchemaModel): (data: unknown) => unknown {
  /** Whether an object with a field never fits a schema, whatever its value and the other fields are. */
  const refuses = (schema: unknown, name: string, above: readonly unknown[] = []): boolean => {
    if (!hasKeywords(schema) || above.includes(schema)) return false
    if (!takesObjects(schema)) return true
    const isRefused = (one: unknown): boolean => refuses(one, name, [...above, schema])
    const { additionalProperties, unevaluatedProperties } = schema
    if (additionalProperties === false && !namesProperty(schema, name)) return true
    if (unevaluatedProperties === false && !mayKnow(model.place([schema]), name)) return true
    if (CERTAIN.some((keyword) => listSchemas(schema, keyword).some(isRefused))) return true
    return ALTERNATIVES.some((keyword) => {
      const alternatives = listSchemas(schema, keyword)
      return alternatives.length > 0 && alternatives.every(isRefused)
    })
  }
  const isUnknown = (place: Place, name: string): boolean =>
    place.given.every((one) => refuses(one, name))
  /** Whether an alternative accepts any object, whatever its contents. */
  const takesAny = oncePerPlace(
    (place) =>
      ALTERNATIVES.some((keyword) => place.schemas(keyword).length > 0) &&
      !isUnknown(place, ANY_NAME),
  )
  const drop = (data: unknown, place: Place): unknown => {
    if (place.isUnknown || takesAny(place)) return data
    if (Array.isArray(data)) {
      const items = data.map((item, index) => drop(item, place.item(index)))
      return items.some((item, index) => item !== data[index]) ? items : data
    }
    if (!isPlainObject(data)) return data
    const all = Object.entries(data)
    const known = all
      .filter(([name]) => !isUnknown(place, name))
      .map(([name, value]) => [name, drop(value, place.property(name))] as const)
    const isWhole =
      known.length === all.length && known.every(([name, value]) => data[name] === value)
    return isWhole ? data : Object.fromEntries(known)
  }
  return (data) => drop(data, model.root)
}

/** Whether a schema, or one that may apply to the same value, describes a field. */
function mayKnow({ parts }: Place, name: string): boolean {
  return parts.some(
    (part) =>
      namesProperty(part, name) || OTHER_PROPERTIES.some((keyword) => Boolean(part[keyword])),
  )
}

/** Whether objects of JSON may fit a schema. */
function takesObjects(schema: Keywords): boolean {
  const { type } = schema
  if (type !== undefined && ![type].flat().includes('object')) return false
  if (listValues(schema)?.some(isObject) === false) return false
  // Ids and dates are strings in JSON.
  return !isConverted(schema)
}
