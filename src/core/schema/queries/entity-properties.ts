import type { TSchema } from 'typebox'
import { Type } from 'typebox'

import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
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
const DEFINITIONS = ['$defs', 'definitions', '$schema']

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
  const isMap = !isObjectSchema(given)
  const entity = isMap
    ? given
    : toRecordSchema(isLinked ? given : (linkReferences(given) as Keywords))
  const outer = isMap ? toMap(owner, entity) : toProperties(owner, entity)
  const definitions = isMap
    ? {}
    : Object.fromEntries(DEFINITIONS.flatMap((name) => toEntry(name, entity[name])))
  return { properties: new Map([...outer, ...toInner(outer)]), definitions, isMap }
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

function toMap(owner: string, map: Keywords): Map<string, EntityProperty> {
  for (const [name, schema] of Object.entries(map)) {
    if (!isSchema(schema)) throw new TypeError(`${owner}: '${name}' has no schema of a property`)
  }
  // Nothing tells whether records may lack one.
  return new Map(
    Object.entries(map).map(([name, schema]) => [
      name,
      { schema: schema as TSchema, isOptional: true },
    ]),
  )
}

function toProperties(owner: string, entity: Keywords): Map<string, EntityProperty> {
  const { properties = {}, allOf = [], required = [] } = entity
  if (!isSchemaMap(properties) || !Array.isArray(allOf) || !Array.isArray(required)) {
    throw new TypeError(`${owner} takes the schema of an object, with its 'properties'`)
  }
  if (entity['properties'] === undefined && allOf.length === 0) {
    throw new TypeError(`${owner} needs the 'properties' of the schema`)
  }
  const all = new Map(
    Object.entries(properties).map(([name, schema]) => [
      name,
      { schema, isOptional: !required.includes(name) },
    ]),
  )
  for (const part of allOf as readonly unknown[]) {
    if (!isPlainObject(part) || !isObjectSchema(part)) {
      throw new TypeError(`${owner} can only join schemas of objects, with their 'properties'`)
    }
    for (const [name, property] of toProperties(owner, part)) {
      all.set(name, join(all.get(name), property, required.includes(name)))
    }
  }
  return all
}

/** A property that two schemas describe holds by both. */
function join(
  one: EntityProperty | undefined,
  other: EntityProperty,
  isRequired: boolean,
): EntityProperty {
  if (one === undefined) return { ...other, isOptional: other.isOptional && !isRequired }
  return {
    schema: Type.Unsafe({ allOf: [one.schema, other.schema] }),
    isOptional: one.isOptional && other.isOptional,
  }
}

/** Returns the properties of objects, and of objects in lists, one level down. */
function toInner(outer: ReadonlyMap<string, EntityProperty>): [string, EntityProperty][] {
  return [...outer].flatMap(([name, { schema }]) => {
    const { type, items, properties } = schema as Keywords
    const inner = type === 'array' && isPlainObject(items) ? items['properties'] : properties
    if (!isSchemaMap(inner)) return []
    // An object without it, or a record without the object, has no value at the path.
    return Object.entries(inner).map(([key, value]): [string, EntityProperty] => [
      `${name}.${key}`,
      { schema: value, isOptional: true },
    ])
  })
}

function toEntry(name: string, value: unknown): [string, unknown][] {
  return value === undefined ? [] : [[name, value]]
}
