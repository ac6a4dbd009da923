import type { TIntersectOptions, TProperties, TSchema, TSchemaOptions } from 'typebox'
import * as TypeBox from 'typebox'
import { suggestName } from '../../options/name-suggestion.ts'
import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'

/** Returns a schema that is made of another one. */
type Derive = (type: TSchema, options?: TSchemaOptions) => TSchema

/** The names of properties, or the schema of them. */
type Keys = readonly PropertyKey[] | TSchema

/** Returns a schema with some properties of another one. */
type DeriveByKeys = (type: TSchema, keys: Keys, options?: TSchemaOptions) => TSchema

// TypeBox forgets in all of these what the object says of further properties: the data of `create`,
// picked of a record without any, would take every field. The casts keep the types of its functions.

/**
 * Returns the schema of an object with some properties of another one, closed if that is closed.
 * @throws {TypeError} a name that the object does not have
 */
export const Pick: typeof TypeBox.Pick = deriveByNames(
  'Pick',
  TypeBox.Pick as DeriveByKeys,
) as typeof TypeBox.Pick

/**
 * Returns the schema of an object without some properties of another one, closed if that is closed.
 * @throws {TypeError} a name that the object does not have: it would hide nothing
 */
export const Omit: typeof TypeBox.Omit = deriveByNames(
  'Omit',
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

function checkNames(label: string, type: TSchema, keys: Keys): void {
  const known = findNames(type)
  if (known === undefined) return
  const mistyped = toNames(keys).find((name) => !known.includes(name))
  if (mistyped === undefined) return
  const hint = suggestName(mistyped, known) || `, it has ${known.join(', ') || 'none'}`
  throw new TypeError(`Type.${label}(): the object has no property '${mistyped}'${hint}`)
}

/** Returns the names of an object's properties, `undefined` for a reference: they are not known yet. */
function findNames(type: TSchema): string[] | undefined {
  if (TypeBox.IsUnion(type)) {
    const lists = type.anyOf.map(findNames)
    return lists.every((list) => list !== undefined) ? lists.flat() : undefined
  }
  const { properties } = (TypeBox.Omit as DeriveByKeys)(type, []) as Keywords
  return isPlainObject(properties) ? Object.keys(properties) : undefined
}

function toNames(keys: Keys): string[] {
  if (isNames(keys)) return keys.map(String)
  const record: TSchema = TypeBox.Record(keys, TypeBox.Any())
  const { properties } = record as Keywords
  return Object.keys(properties ?? {})
}

function isNames(keys: Keys): keys is readonly PropertyKey[] {
  return Array.isArray(keys)
}

function deriveByNames(label: string, derive: DeriveByKeys): DeriveByKeys {
  return (type, keys, options) => {
    checkNames(label, type, keys)
    return keepRest((one, ownOptions) => derive(one, keys, ownOptions))(type, options)
  }
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
