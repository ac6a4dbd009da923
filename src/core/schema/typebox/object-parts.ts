import type { TSchema, TSchemaOptions } from 'typebox'
import * as TypeBox from 'typebox'

import type { Keywords } from '../json-schema.ts'

/** Returns a schema that is made of another one. */
type Derive = (type: TSchema, options?: TSchemaOptions) => TSchema

/** Returns a schema with some properties of another one. */
type DeriveByKeys = (type: TSchema, keys: PropertyKey[], options?: TSchemaOptions) => TSchema

// TypeBox forgets in all of these what the object says of further properties: the data of `create`,
// picked of a record without any, would take every field. The casts keep the types of its functions.

/** Returns the schema of an object with some properties of another one, closed if that is closed. */
export const Pick: typeof TypeBox.Pick = keepRestByKeys(
  TypeBox.Pick as DeriveByKeys,
) as typeof TypeBox.Pick

/** Returns the schema of an object without some properties of another one, closed if that is closed. */
export const Omit: typeof TypeBox.Omit = keepRestByKeys(
  TypeBox.Omit as DeriveByKeys,
) as typeof TypeBox.Omit

/** Returns the schema of an object that requires nothing of another one, closed if that is closed. */
export const Partial: typeof TypeBox.Partial = keepRest(
  TypeBox.Partial as Derive,
) as typeof TypeBox.Partial

/** Returns the schema of an object that requires all of another one, closed if that is closed. */
export const Required: typeof TypeBox.Required = keepRest(
  TypeBox.Required as Derive,
) as typeof TypeBox.Required

function keepRestByKeys(derive: DeriveByKeys): DeriveByKeys {
  return (type, keys, options) =>
    keepRest((one, ownOptions) => derive(one, keys, ownOptions))(type, options)
}

function keepRest(derive: Derive): Derive {
  const deriveClosed: Derive = (type, options = {}) => {
    // Each alternative says for itself what it takes.
    if (TypeBox.IsUnion(type)) {
      return TypeBox.Union(
        type.anyOf.map((one) => deriveClosed(one)),
        options,
      )
    }
    const additionalProperties = findRest(type as Keywords)
    return derive(
      type,
      additionalProperties === undefined ? options : { additionalProperties, ...options },
    )
  }
  return deriveClosed
}

/** Returns what a schema says of further properties, `undefined` for nothing. */
function findRest({ additionalProperties, unevaluatedProperties, allOf }: Keywords): unknown {
  const own = additionalProperties ?? unevaluatedProperties
  if (own !== undefined || !Array.isArray(allOf)) return own
  return (allOf as readonly Keywords[]).map(findRest).find((rest) => rest !== undefined)
}
