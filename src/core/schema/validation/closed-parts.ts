import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import { visitSchemas } from '../model/keywords.ts'
import { namesProperty, SchemaModel } from '../model/places.ts'

/** Keywords that lead to schemas which hold for a value in any case, and to those that may as well. */
const JOINED = ['$ref', 'allOf']
const POSSIBLE = [...JOINED, 'anyOf', 'oneOf', 'then', 'else']

const ADVICE =
  'leave that out of the parts, and close the whole: ' +
  'Type.Intersect([…], { additionalProperties: false }) with the Type of remex/schema, or ' +
  'unevaluatedProperties: false in JSON Schema'

/**
 * Refuses a schema that joins others by `allOf`, of which one is closed by `additionalProperties: false`
 * and refuses what another one names: no value can ever have that property, and each one that
 * does is refused with nothing to tell why. A property with the schema `false` is left out on purpose.
 * @throws {TypeError} names the property
 */
export function checkClosedParts(schema: JSONSchema): void {
  if (!isObject(schema)) return
  const joined = new SchemaModel(schema, JOINED)
  const possible = new SchemaModel(schema, POSSIBLE)
  visitSchemas(schema, (whole) => {
    if (!Array.isArray(whole['allOf'])) return
    const closed = joined
      .place([whole])
      .parts.filter((part) => part['additionalProperties'] === false)
    if (closed.length === 0) return
    const names = [...possible.place([whole]).namedSchemas('properties')]
      .filter(([, properties]) => properties.some((property) => property !== false))
      .map(([name]) => name)
    for (const part of closed) {
      const refused = names.find((name) => !namesProperty(part, name))
      if (refused === undefined) continue
      throw new TypeError(
        `No value can have the property '${refused}' of a schema with allOf: ` +
          `a part of it is closed by additionalProperties: false, and does not name it; ${ADVICE}`,
      )
    }
  })
}
