import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { SchemaError } from '../../errors/setup-errors.ts'

import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import { ALTERNATIVES, CERTAIN, DEFINITIONS, withoutRepeated } from '../model/keywords.ts'
import type { Place } from '../model/places.ts'
import { SchemaModel } from '../model/places.ts'
import { linkReferences, toRecordSchema } from '../model/references.ts'

/** A property of an entity. */
export interface EntityProperty {
  /** The schema of its values. */
  readonly schema: TSchema
  /** Whether records may lack it. */
  readonly isOptional: boolean
}

/** What queries need to know about the schema of a record. */
export interface EntityProperties {
  /** The properties by name; nested ones by path, `author.name`. */
  readonly properties: ReadonlyMap<string, EntityProperty>
  /** The keywords that references in the properties lead to. */
  readonly definitions: Keywords
  /** Whether a map of properties was given instead of the schema of an object. */
  readonly isMap: boolean
}

/** Keywords with schemas that a reference may lead to, and `$schema`, which says how to read them. */
const KEPT = [...DEFINITIONS, '$schema']

/**
 * Returns the properties that a schema names: the schema of an object, one that joins objects by `allOf`, as
 * `Type.Intersect` does, or a map of properties. It is the schema of an object if it has `type: 'object'`, a
 * list `allOf`, a `$ref`, or a keyword `properties` with only schemas in it, and a map of properties
 * otherwise.
 * @param owner the function that takes the schema, for the error
 * @param isLinked whether the references in the schema are already linked; the result always has linked ones
 * @throws {TypeError} it is neither, or joins a schema that is not of an object
 */
export function readEntity(owner: string, given: unknown, isLinked = false): EntityProperties {
  if (!isPlainObject(given)) throw new SchemaError(`${owner} takes the schema of an object`)
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

/** Whether a value is a schema: an object of keywords, `true` or `false`. */
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
    if (!isSchema(schema)) throw new SchemaError(`${owner}: '${name}' has no schema of a property`)
    // It is unknown whether records may lack it.
    properties.set(name, { schema, isOptional: true })
  }
  return properties
}

function readProperties(owner: string, entity: Keywords): Map<string, EntityProperty> {
  const { root } = new SchemaModel(entity, ['allOf'])
  for (const part of root.parts) checkPart(owner, part, entity)
  const isRequired = (name: string): boolean =>
    root.parts.some(({ required }) => Array.isArray(required) && required.includes(name))
  // A property described by several schemas must fit all of them.
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
  // The model drops `false` and values that are not schemas from the parts.
  const joinsOthers = Array.isArray(allOf) && !allOf.every(isPlainObject)
  if (joinsOthers || (part !== whole && !isObjectSchema(part))) {
    throw new SchemaError(`${owner} can only join schemas of objects, with their 'properties'`)
  }
  if (!isSchemaMap(properties) || !Array.isArray(allOf) || !Array.isArray(required)) {
    throw new SchemaError(`${owner} takes the schema of an object, with its 'properties'`)
  }
  if (part['properties'] === undefined && allOf.length === 0) {
    throw new SchemaError(`${owner} needs the 'properties' of the schema`)
  }
}

/** The most names in a path. Without a limit, a schema that contains itself would have endless paths. */
const MAX_NAMES = 4

/** Beyond this number, paths have two names and do not lead into alternatives: Ajv compiles each for milliseconds. */
const MAX_PROPERTIES = 100

/** Returns properties including nested ones by path, also those in lists and alternatives. */
function withInner(
  outer: ReadonlyMap<string, EntityProperty>,
): ReadonlyMap<string, EntityProperty> {
  const all = new Map(outer)
  let model = new SchemaModel({}, [...CERTAIN, ...ALTERNATIVES])
  let level = listInner(model, toPlaces(model, outer))
  if (all.size + level.size > MAX_PROPERTIES) {
    model = new SchemaModel({}, CERTAIN)
    level = listInner(model, toPlaces(model, outer))
  }
  for (let names = 2; names <= MAX_NAMES; names += 1) {
    if (names > 2) level = listInner(model, level)
    if (names > 2 && all.size + level.size > MAX_PROPERTIES) break
    for (const [path, { given }] of level) {
      const schemas = withoutRepeated(given) as readonly TSchema[]
      const schema = schemas.length === 1 ? schemas[0] : Type.Unsafe({ anyOf: schemas })
      // Without the object or its property, the record has no value at the path.
      if (!all.has(path)) all.set(path, { schema: schema as TSchema, isOptional: true })
    }
  }
  return all
}

function toPlaces(
  model: SchemaModel,
  properties: ReadonlyMap<string, EntityProperty>,
): ReadonlyMap<string, Place> {
  return new Map([...properties].map(([name, { schema }]) => [name, model.place([schema])]))
}

/** Returns the places one level below others, by path. */
function listInner(model: SchemaModel, outer: ReadonlyMap<string, Place>): Map<string, Place> {
  const inner = new Map<string, Place>()
  for (const [path, place] of outer) {
    const items = model.place([...place.schemas('items'), ...place.schemas('prefixItems')])
    const own = [...place.parts, ...items.parts].flatMap(({ properties }) =>
      isSchemaMap(properties) ? Object.entries(properties) : [],
    )
    for (const name of new Set(own.map(([key]) => key))) {
      const schemas = own.flatMap(([key, schema]) => (key === name ? [schema] : []))
      const innermost = model.place(schemas)
      if (innermost.given.length > 0) inner.set(`${path}.${name}`, innermost)
    }
  }
  return inner
}
