/** A JSON type together with the keyword. */
interface WithKeyword<Type> {
  type: Type
  objectid: true
}

/** A schema that holds where one of these does. */
interface AnyOf<Schemas> {
  anyOf: Schemas
}

/**
 * Returns the JSON schema of a field with an ObjectId, for an Ajv that has the keyword
 * `keywordObjectId`. With TypeBox it is `Type.Unsafe<ObjectId>(ObjectIdSchema())`; where the field
 * may be `null`, `{ anyOf: [ObjectIdSchema(), { type: 'null' }] }`.
 */
export function ObjectIdSchema(): AnyOf<[WithKeyword<'string'>, WithKeyword<'object'>]> {
  // One schema for each type, and not both in a list of types: of those Ajv warns in strict mode.
  return {
    anyOf: [
      { type: 'string', objectid: true },
      { type: 'object', objectid: true },
    ],
  }
}
