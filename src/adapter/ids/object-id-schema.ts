import type { ObjectId } from 'mongodb'

import { addSchemaKeyword } from '../../core/schema-keywords.ts'
import { keywordObjectId } from './object-id-keyword.ts'

// Type aliases: the declarations of an application that exports a schema with such a field can have
// them written out, but could not name an interface of this file.

/** A JSON type together with the keyword. */
type WithKeyword<Type> = { type: Type; objectid: true }

/** A schema that holds where one of these does, and the type that TypeBox takes its values for. */
type AnyOf<Schemas, Value> = {
  anyOf: Schemas
  readonly '~unsafe': Value
}

type ObjectIdAnyOf = AnyOf<[WithKeyword<'string'>, WithKeyword<'object'>], ObjectId>

/**
 * Returns the JSON schema of a field with an ObjectId. The schemas of Remex know its keyword; an Ajv
 * of your own needs `ajv.addKeyword(keywordObjectId)`. In a `Type.Object` of TypeBox, `Static` makes it
 * an ObjectId. Where the field may be `null`, it is `{ anyOf: [ObjectIdSchema(), { type: 'null' }] }`.
 */
export function ObjectIdSchema(): ObjectIdAnyOf {
  addSchemaKeyword(keywordObjectId)
  // One schema for each type, and not both in a list of types: of those Ajv warns in strict mode.
  const schema = {
    anyOf: [
      { type: 'string', objectid: true },
      { type: 'object', objectid: true },
    ],
  }
  // Not enumerable, as TypeBox has it: no keyword of the schema, which any Ajv may read.
  return Object.defineProperty(schema, '~unsafe', { value: null }) as ObjectIdAnyOf
}
