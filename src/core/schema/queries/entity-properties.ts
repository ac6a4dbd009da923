import type { TSchema } from 'typebox'
import { Type } from 'typebox'

import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import { DEFINITIONS } from '../model/keywords.ts'
import { SchemaModel } from '../model/places.ts'
import { linkReferences, toRecordSchema } from '../model/references.ts'

/** A property of an entity. */
interface EntityProperty {
  /** What its values are like. */
  readonly schema: TSchema
  /** Whether records may lack it. */
  readonly isOptional: boolean
}

/** What queries need to know of the schema of a record. */
export interface EntityProperties {
  /** The properties by name; those inside of objects by their path, `author.name`. */
  readonly properties: ReadonlyMap<string, EntityProperty>
  /** The keywords that references in the properties lead to. */
  readonly definitions: Keywords
  /** Whether a map of properties was given in place of the schema of an object. */
  readonly isMap: boolean
}

/** Keywords with schemas that a reference may lead to, and the one that says how to read them. */
const KEPT = [...DEFINITIONS, '$schema']

/**
 * Returns the properties that a schema names: one of an object, one that joins such by `allOf`, as
 * `Type.Intersect` does, or a map of properties. It is the schema of an object if it has
 * `type: 'object'`, a list `allOf`, a `$ref`, or a keyword `properties` with nothing but schemas in
 * it, and a map of properties otherwise.
 * @param owner the function that takes the schema, for the error
 * @param isLinked whether the references in the schema are linked; else they are in what is returned
 * @throws {TypeError} it is neither, or joins what is no schema of an object
 */
export function readEntity(owner: string, given: unknown, isLinked = false): EntityProperties {
  if (!isPlainObject(given)) throw new TypeError(`${owner} takes the schema of an object`)
  if (!isObjectSchema(given)) {
    return { properties: withInner(readMap(owner, given)), definitions: {}, isMap: true }
  }
  const entity = toRecordSchema(isLinked ? given : (linkReferences(given) as Keywords))
  const definitions = Object.entries(entity).filter(([keyword]) => KEPT.includes(keyword))
  return {
    properties: withInner(readProperties(owner, entity)),
    definitions: Object.fromEntries(definitions),
    isMap: false,
  }
}

/** Whether something is a schema, by itself: an object of keywords, `true` or `false`. */
export function isSchema(value: unknown): value is TSchema {
  return typeof value === 'boolean' || isPlainObject(value)
}

function isObjectSchema({ type, allOf, properties, $ref }: Keywords): boolean {
  if ($ref !== undefined) return true
  return type === 'object' || Array.isArray(allOf) || isSchemaMap(properties)
}

function isSchemaMap(value: unknown): value is Readonly<Record<string, TSchema>> {
  return isPlainObject(value) && Object.values(value).every(isSchema)
}

function readMap(owner: string, map: Keywords): Map<string, EntityProperty> {
  const properties = new Map<string, EntityProperty>()
  for (const [name, schema] of Object.entries(map)) {
    if (!isSchema(schema)) throw new TypeError(`${owner}: '${name}' has no schema of a property`)
    // Nothing tells whether records may lack it.
    properties.set(name, { schema, isOptional: true })
  }
  return properties
}

function readProperties(owner: string, entity: Keywords): Map<string, EntityProperty> {
  const { root } = new SchemaModel(entity, ['allOf'])
  for (const part of root.parts) checkPart(owner, part, entity)
  const isRequired = (name: string): boolean =>
    root.parts.some(({ required }) => Array.isArray(required) && required.includes(name))
  // A property that several schemas describe holds by all of them.
  return new Map(
    [...root.namedSchemas('properties')].map(([name, schemas]) => [
      name,
      {
        schema: schemas.length > 1 ? Type.Unsafe({ allOf: schemas }) : (schemas[0] as TSchema),
        isOptional: !isRequired(name),
      },
    ]),
  )
}

function checkPart(owner: string, part: Keywords, whole: Keywords): void {
  const { properties = {}, allOf = [], required = [] } = part
  // The model leaves `false` and what is no schema out of the parts.
  const joinsOthers = Array.isArray(allOf) && !allOf.every(isPlainObject)
  if (joinsOthers || (part !== whole && !isObjectSchema(part))) {
    throw new TypeError(`${owner} can only join schemas of objects, with their 'properties'`)
  }
  if (!isSchemaMap(properties) || !Array.isArray(allOf) || !Array.isArray(required)) {
    throw new TypeError(`${owner} takes the schema of an object, with its 'properties'`)
  }
  if (part['properties'] === undefined && allOf.length === 0) {
    throw new TypeError(`${owner} needs the 'properties' of the schema`)
  }
}

/** Returns properties with those of objects, and of objects in lists, one level down. */
function withInner(
  outer: ReadonlyMap<string, EntityProperty>,
): ReadonlyMap<string, EntityProperty> {
  const all = new Map(outer)
  for (const [name, { schema }] of outer) {
    const { type, items, properties } = schema as Keywords
    const inner = type === 'array' && isPlainObject(items) ? items['properties'] : properties
    // An object without it, or a record without the object, has no value at the path.
    for (const [key, value] of Object.entries(isSchemaMap(inner) ? inner : {})) {
      all.set(`${name}.${key}`, { schema: value, isOptional: true })
    }
  }
  return all
}
