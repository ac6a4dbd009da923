import type { OperatorPlace } from '../../checked-query.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isPlainObject } from '../../value-kind.ts'
import type { Place } from '../model/places.ts'
import { SchemaModel } from '../model/places.ts'

/** Keywords that lead to further schemas of a value. A condition names no operators. */
const SAME_VALUE = ['$ref', 'allOf', 'anyOf', 'oneOf']

/** What a schema names for values that are no objects and no lists. */
const NOTHING: OperatorPlace = { names: new Map(), items: undefined }

/**
 * Returns the operators that the schema of a query, with linked references, names, each at its place.
 * It reads `properties`, `items` and `prefixItems`, what `allOf`, `anyOf` and `oneOf` join, and
 * references; nothing is named by a schema that can not be read, by `patternProperties`, or by
 * `additionalProperties`. A schema that contains itself gives places that do so, too.
 */
export function readOperatorPlaces(schema: JSONSchema): OperatorPlace {
  if (!isPlainObject(schema)) return NOTHING
  const model = new SchemaModel(schema, SAME_VALUE)
  const known = new Map<Place, OperatorPlace>()
  const read = (place: Place): OperatorPlace => {
    const properties = place.namedSchemas('properties')
    const items = [...place.schemas('items'), ...place.schemas('prefixItems')].filter(isPlainObject)
    if (properties.size === 0 && items.length === 0) return NOTHING
    const names = new Map<string, OperatorPlace>()
    const operators: { names: typeof names; items: OperatorPlace | undefined } = {
      names,
      items: undefined,
    }
    // Before what is in it is read: it may contain itself.
    known.set(place, operators)
    for (const [name, schemas] of properties) {
      const allowed = schemas.filter((one) => one !== false)
      if (allowed.length > 0) names.set(name, readOnce(allowed))
    }
    if (items.length > 0) operators.items = readOnce(items)
    return operators
  }
  const readOnce = (schemas: readonly unknown[]): OperatorPlace => {
    const place = model.place(schemas)
    return known.get(place) ?? read(place)
  }
  return read(model.root)
}
