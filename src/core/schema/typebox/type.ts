import type { TIntersectOptions, TProperties, TSchema, TSchemaOptions } from 'typebox'
import * as TypeBox from 'typebox'
import { SchemaError } from '../../errors/setup-errors.ts'
import { suggestName } from '../../options/name-suggestion.ts'
import { isPlainObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'

// The functions of TypeBox, some of them overridden below.
export * from 'typebox'

/** The names of properties, or the schema of them. */
type Keys = readonly PropertyKey[] | TSchema

// In all of these, TypeBox drops what the object says about additional properties: the data of `create`,
// picked from a closed record, would accept every field.

/**
 * Returns the schema of an object with some properties of another one, closed if the other is closed.
 * @throws {TypeError} a name that the object does not have
 */
export const Pick: typeof TypeBox.Pick = keepRest(TypeBox.Pick, 'Pick')

/**
 * Returns the schema of an object without some properties of another one, closed if the other is closed.
 * @throws {TypeError} a name that the object does not have: it would hide nothing
 */
export const Omit: typeof TypeBox.Omit = keepRest(TypeBox.Omit, 'Omit')

/** Returns the schema of an object with all properties optional, closed if the given one is closed. */
export const Partial: typeof TypeBox.Partial = keepRest(TypeBox.Partial)

/** Returns the schema of an object with all properties required, closed if the given one is closed. */
export const Required: typeof TypeBox.Required = keepRest(TypeBox.Required)

/**
 * Returns a function of TypeBox that keeps what an object says about additional properties, with the same
 * type.
 * @param label its name, if its second argument has the names of properties
 */
function keepRest<F>(original: F, label?: string): F {
  const derive = original as (type: TSchema, ...others: unknown[]) => TSchema
  const deriveEach = (
    type: TSchema,
    keys: readonly Keys[],
    options: TSchemaOptions = {},
  ): TSchema => {
    // Each alternative has its own rule for additional properties.
    if (TypeBox.IsUnion(type)) {
      return TypeBox.Union(
        type.anyOf.map((one) => deriveEach(one, keys)),
        options,
      )
    }
    const rest = findRest(type as Keywords)
    const kept = rest === undefined ? {} : { additionalProperties: rest }
    return derive(type, ...keys, { ...kept, ...options })
  }
  const deriveByNames = (type: TSchema, keys: Keys, options?: TSchemaOptions): TSchema => {
    checkNames(String(label), type, keys)
    return deriveEach(type, [keys], options)
  }
  const deriveAll = (type: TSchema, options?: TSchemaOptions) => deriveEach(type, [], options)
  return (label === undefined ? deriveAll : deriveByNames) as F
}

function checkNames(label: string, type: TSchema, keys: Keys): void {
  const known = findNames(type)
  if (known === undefined) return
  const mistyped = toNames(keys).find((name) => !known.includes(name))
  if (mistyped === undefined) return
  const hint = suggestName(mistyped, known) || `, it has ${known.join(', ') || 'none'}`
  throw new SchemaError(`Type.${label}(): the object has no property '${mistyped}'${hint}`)
}

/**
 * Returns the names of an object's properties, `undefined` for a reference, whose properties are not known
 * yet.
 */
function findNames(type: TSchema): string[] | undefined {
  if (TypeBox.IsUnion(type)) {
    const lists = type.anyOf.map(findNames)
    return lists.every((list) => list !== undefined) ? lists.flat() : undefined
  }
  const { properties }: { properties?: unknown } = TypeBox.Omit(type, [])
  return isPlainObject(properties) ? Object.keys(properties) : undefined
}

function toNames(keys: Keys): string[] {
  if (Array.isArray(keys)) return keys.map(String)
  const record: { properties?: object } = TypeBox.Record(keys as TSchema, TypeBox.Any())
  return Object.keys(record.properties ?? {})
}

/** Returns what a schema says about additional properties, `undefined` for nothing. */
function findRest({ additionalProperties, unevaluatedProperties, allOf }: Keywords): unknown {
  const own = additionalProperties ?? unevaluatedProperties
  if (own !== undefined || !Array.isArray(allOf)) return own
  return (allOf as readonly Keywords[]).map(findRest).find((rest) => rest !== undefined)
}

/** The keywords that an object may have to be joined with others. */
const JOINED: ReadonlySet<string> = new Set([
  ...['$id', 'title', 'description', 'type', 'properties', 'required', 'additionalProperties'],
])

/**
 * Returns the schema of values that fit all of some schemas. With the option `additionalProperties`, which in
 * JSON Schema only considers the properties of a single schema, it is the schema of one object with the
 * properties of all: `false` rejects properties that none of them names, even if each is closed.
 */
export const Intersect: typeof TypeBox.Intersect = ((
  types: TSchema[],
  options: TIntersectOptions = {},
) => {
  const parts = options['additionalProperties'] === undefined ? [] : types.flatMap(toParts)
  return parts.length > 0 && parts.every(isJoinable)
    ? joinObjects(parts, options)
    : TypeBox.Intersect(types, options)
  // The static type is the same, and the object has the properties that the other functions look for.
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
