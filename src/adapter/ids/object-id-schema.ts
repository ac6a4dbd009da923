import { addSchemaKeyword } from '../../core/schema-keywords.ts'
import { keywordObjectId } from './object-id-keyword.ts'

// Type aliases: the declarations of an application that exports a schema with such a field can have
// them written out, but could not name an interface of this file.

/** A JSON type together with the keyword. */
type WithKeyword<Type> = { type: Type; objectid: true }

/** A schema that holds where one of these does. */
type AnyOf<Schemas> = { anyOf: Schemas }

/**
 * Returns the JSON schema of a field with an ObjectId. The schemas of Remex know its keyword; an Ajv
 * of your own needs `ajv.addKeyword(keywordObjectId)`. With TypeBox it is
 * `Type.Unsafe<ObjectId>(ObjectIdSchema())`; where the field may be `null`,
 * `{ anyOf: [ObjectIdSchema(), { type: 'null' }] }`.
 */
export function ObjectIdSchema(): AnyOf<[WithKeyword<'string'>, WithKeyword<'object'>]> {
  addSchemaKeyword(keywordObjectId)
  // One schema for each type, and not both in a list of types: of those Ajv warns in strict mode.
  return {
    anyOf: [
      { type: 'string', objectid: true },
      { type: 'object', objectid: true },
    ],
  }
}
