import type { OperatorPlace } from '../../checked-query.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isPlainObject } from '../../value-kind.ts'
import { ALTERNATIVES, CERTAIN } from '../model/keywords.ts'
import type { Place } from '../model/places.ts'
import { createPlaceReader, SchemaModel } from '../model/places.ts'

/**
 * Returns the operators that the schema of a query, with linked references, names, each at its place. It
 * reads `properties`, `items`, `prefixItems`, `allOf`, `anyOf`, `oneOf` and references. Conditions,
 * `patternProperties` and `additionalProperties` name no operators.
 */
export function readOperatorPlaces(schema: JSONSchema): OperatorPlace {
  const model = new SchemaModel(schema, [...CERTAIN, ...ALTERNATIVES])
  const read: (place: Place) => OperatorPlace = createPlaceReader(
    () => ({
      names: new Map<string, OperatorPlace>(),
      items: undefined as OperatorPlace | undefined,
    }),
    (operators, place) => {
      for (const [name, schemas] of place.namedSchemas('properties')) {
        const inner = model.place(schemas)
        if (!inner.isUnknown) operators.names.set(name, read(inner))
      }
      const items = [...place.schemas('items'), ...place.schemas('prefixItems')]
      const allowed = items.filter(isPlainObject)
      if (allowed.length > 0) operators.items = read(model.place(allowed))
    },
  )
  return read(model.root)
}
