import type { TIntersectOptions, TProperties, TSchema } from 'typebox'
import * as TypeBox from 'typebox'

import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'

/** What may stand in an object that is joined with others: all of it goes into the whole. */
const JOINED: ReadonlySet<string> = new Set([
  ...['$id', 'title', 'description', 'type', 'properties', 'required', 'additionalProperties'],
])

/**
 * Returns the schema of what fits all of some schemas. With the option `additionalProperties`, which in
 * JSON Schema looks at the properties of one schema alone, it is the schema of one object with the
 * properties of all: `false` refuses those that none of them names, even if they are closed each.
 */
export const Intersect: typeof TypeBox.Intersect = ((
  types: TSchema[],
  options: TIntersectOptions = {},
) => {
  const parts = options['additionalProperties'] === undefined ? [] : types.flatMap(toParts)
  return parts.length > 0 && parts.every(isJoinable)
    ? joinObjects(parts, options)
    : TypeBox.Intersect(types, options)
  // The static type is the same, and an object has the properties that the other functions look for.
}) as typeof TypeBox.Intersect

function toParts(type: TSchema): TSchema[] {
  const isOnlyJoined = TypeBox.IsIntersect(type) && Object.keys(type).length === 1
  return isOnlyJoined ? type.allOf.flatMap(toParts) : [type]
}

function isJoinable(type: TSchema): boolean {
  const { properties } = type as Keywords
  return isPlainObject(properties) && Object.keys(type).every((keyword) => JOINED.has(keyword))
}

function joinObjects(parts: readonly TSchema[], options: TIntersectOptions): TSchema {
  const joined = new Map<string, { schema: TSchema; isRequired: boolean }>()
  for (const part of parts) {
    const { properties, required = [] } = part as {
      readonly properties: TProperties
      readonly required?: readonly string[]
    }
    for (const [name, schema] of Object.entries(properties)) {
      const other = joined.get(name)
      joined.set(name, {
        schema: other === undefined ? schema : TypeBox.Intersect([other.schema, schema]),
        isRequired: other?.isRequired === true || required.includes(name),
      })
    }
  }
  const properties = [...joined].map(([name, { schema, isRequired }]) => [
    name,
    isRequired ? schema : TypeBox.Optional(schema),
  ])
  return TypeBox.Object(Object.fromEntries(properties), options)
}
