import { BSON, ObjectId } from 'mongodb'
import { toList } from '../core/checked-query.ts'
import { InvalidId, InvalidQuery } from '../core/errors/coded-errors.ts'
import type { Id } from '../core/params.ts'
import type { ConvertingKeyword, ValuePlace } from '../core/schema-keywords.ts'
import { addSchemaKeyword } from '../core/schema-keywords.ts'
import { isObject, isPlainObject, isSingleValue } from '../core/value-kind.ts'

/** What addresses one record of a MongoDB service. */
export type AdapterId = Id | ObjectId

/** The id of a record, or `null` for many of them: what `patch` and `remove` take. */
export type NullableAdapterId = AdapterId | null

const HEX_24 = /^[0-9a-f]{24}$/i

/**
 * Returns whether a value is an ObjectId, of any copy of the driver. An object literal with a key
 * `_bsontype`, which JSON can contain, is not one.
 */
export function isObjectId(value: unknown): value is ObjectId {
  return (
    isObject(value) &&
    !Object.hasOwn(value, '_bsontype') &&
    value['_bsontype'] === 'ObjectId' &&
    typeof value['toHexString'] === 'function'
  )
}

/**
 * Returns a string of 24 hexadecimal digits, or an ObjectId of another copy of the driver, as an ObjectId,
 * and any other value as it is: numbers and other strings are ids as well.
 */
export function toObjectId(value: unknown): unknown {
  if (typeof value === 'string') return HEX_24.test(value) ? new ObjectId(value) : value
  if (value instanceof ObjectId || !isObjectId(value)) return value
  return new ObjectId(value.toHexString())
}

/** Returns an id as it is stored by a service with these options. */
export function toStoredId(
  id: AdapterId,
  settings: { readonly id: string; readonly disableObjectify: boolean },
): AdapterId {
  const isObjectified = settings.id === '_id' && !settings.disableObjectify
  return isObjectified ? (toObjectId(id) as AdapterId) : id
}

/**
 * Checks the id argument of a method.
 * @throws {BadRequest} it is not a string, a number or an ObjectId
 */
export function checkId(id: unknown): asserts id is AdapterId {
  if (typeof id === 'string' || typeof id === 'number' || isObjectId(id)) return
  throw new InvalidId(`Invalid id '${typeof id === 'bigint' ? String(id) : JSON.stringify(id)}'`)
}

/**
 * Returns whether two ids address the same record: `'507F…'` and its ObjectId do. Lists and objects of JSON
 * are not ids: a caller may have sent any `toString`.
 */
export function isSameId(one: unknown, other: unknown): boolean {
  if (isCompound(one) || isCompound(other)) return false
  return String(toObjectId(one)) === String(toObjectId(other))
}

function isCompound(value: unknown): boolean {
  return isObject(value) && !isSingleValue(value)
}

/**
 * Returns a string that identifies an `_id`: it differs for `1` and `'1'`, and is the same for an id as
 * written and as read back.
 */
export function getIdKey(id: unknown): string {
  if (isObjectId(id)) return id.toHexString()
  if (typeof id === 'string') return JSON.stringify(id)
  // The driver reads a small `Long` or `bigint` as a number, and a `Buffer` as a `Binary`.
  const read = BSON.deserialize(BSON.serialize({ id }))
  return BSON.EJSON.stringify(read, { relaxed: false })
}

/**
 * The keyword `objectid` for a custom Ajv: `ajv.addKeyword(keywordObjectId)`. Remex's own Ajv includes it.
 * With `objectid: true`, ObjectIds are valid, and strings of 24 hexadecimal digits are replaced by ObjectIds
 * in the data. Any other value, including a JSON object that imitates an ObjectId, is a validation error that
 * names the place.
 */
export const keywordObjectId: ConvertingKeyword<'objectid'> = {
  keyword: 'objectid',
  schemaType: 'boolean',
  modifying: true,
  post: true,
  error: { message: 'must be an ObjectId or a string of 24 hexadecimal digits' },
  compile: (isOn) => (isOn ? convertInPlace : () => true),
}

function convertInPlace(value: unknown, place?: ValuePlace): boolean {
  const id = toObjectId(value)
  if (!isObjectId(id)) return false
  if (id === value) return true
  // At the root of the data there is no parent to put the ObjectId into, so a string there is invalid.
  if (place?.parentData === undefined) return false
  place.parentData[place.parentDataProperty] = id
  return true
}

// Type aliases, which the compiler can write out in the declarations of an application that exports such a
// schema; it could not name an interface of this file.

/** A JSON type together with the keyword. */
type WithKeyword<Type> = { type: Type; objectid: true }

/** A schema that holds where one of these does, and the type that TypeBox takes its values for. */
type AnyOf<Schemas, Value> = {
  anyOf: Schemas
  readonly '~unsafe': Value
}

type ObjectIdAnyOf = AnyOf<[WithKeyword<'string'>, WithKeyword<'object'>], ObjectId>

/**
 * Returns the JSON schema of a field with an ObjectId. Remex's schemas know its keyword; a custom Ajv needs
 * `ajv.addKeyword(keywordObjectId)`. TypeBox takes it like its own schemas, with ObjectId as `Static` type. For a
 * nullable field use `Type.Union([ObjectIdSchema(), Type.Null()])`.
 */
export function ObjectIdSchema(): ObjectIdAnyOf {
  addSchemaKeyword(keywordObjectId)
  // One schema per type: Ajv's strict mode warns of a list of types.
  const schema = {
    anyOf: [
      { type: 'string', objectid: true },
      { type: 'object', objectid: true },
    ],
  }
  // Not enumerable, like TypeBox's own: it must not become a keyword that another Ajv reads.
  return Object.defineProperty(schema, '~unsafe', { value: null }) as ObjectIdAnyOf
}

/** The ObjectId of a value; `undefined` and `null` stay as they are. */
type Resolved<Value> = ObjectId | (Value & (null | undefined))

/** A condition on a field with ObjectIds. */
export interface ObjectIdQuery {
  /** One of these. */
  $in?: ObjectId[]
  /** None of these. */
  $nin?: ObjectId[]
  /** Any other id. */
  $ne?: ObjectId
}

/**
 * Returns an ObjectId as it is, and a string of 24 hexadecimal digits or an ObjectId of another copy of the
 * driver as an ObjectId. Returns `undefined` and `null` unchanged: it never creates an id. Use it as a
 * resolver for a field of data: `resolve({ properties: { authorId: resolveObjectId } })`.
 * @throws {BadRequest} any other value
 */
export function resolveObjectId<Value>(value: Value): Resolved<Value> {
  if (value === undefined || value === null) return value as Resolved<Value>
  const id = toObjectId(value)
  if (isObjectId(id)) return id
  throw new InvalidId('An id must be an ObjectId or a string of 24 hexadecimal digits')
}

/**
 * Returns a condition on a field of a query with its ids as ObjectIds: {@link resolveObjectId} for a single
 * id, and the same in `$in`, `$nin` and `$ne`. Use it as a resolver for a field of a query:
 * `resolve({ properties: { authorId: resolveQueryObjectId } })`.
 * @throws {BadRequest} another operator, a list operator without a list, or a value that is not an id
 */
export function resolveQueryObjectId<Value>(value: Value): Resolved<Value> | ObjectIdQuery {
  if (!isPlainObject(value)) return resolveObjectId(value)
  const conditions = Object.entries(value).map(([operator, operand]): [string, unknown] => {
    if (operator === '$ne') return [operator, resolveObjectId(operand)]
    if (operator !== '$in' && operator !== '$nin') {
      throw new InvalidQuery(`Invalid query parameter ${operator}: ids take $in, $nin and $ne`)
    }
    const list = toList(operand)
    if (list === undefined) throw new InvalidQuery(`${operator} must be a list`)
    return [operator, list.map(resolveObjectId)]
  })
  return Object.fromEntries(conditions)
}
