import { BSON, ObjectId } from 'mongodb'
import { toList } from '../core/checked-query.ts'
import { BadRequest } from '../core/errors/index.ts'
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
 * Returns whether a value is an ObjectId, also one of another copy of the driver. An object literal
 * with a key `_bsontype`, as JSON can carry it, is none.
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
 * Returns the ObjectId that a string of 24 hexadecimal digits or a foreign ObjectId stands for, and
 * any other value as it is: numbers and other strings are ids as well.
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
 * @throws {BadRequest} neither a string, nor a number, nor an ObjectId
 */
export function checkId(id: unknown): asserts id is AdapterId {
  if (typeof id === 'string' || typeof id === 'number' || isObjectId(id)) return
  throw new BadRequest(`Invalid id '${typeof id === 'bigint' ? String(id) : JSON.stringify(id)}'`)
}

/**
 * Returns whether two ids address the same record: `'507F…'` and its ObjectId do. Lists and objects of JSON are
 * no ids: their `toString` may be anything that a caller has sent.
 */
export function isSameId(one: unknown, other: unknown): boolean {
  if (isCompound(one) || isCompound(other)) return false
  return String(toObjectId(one)) === String(toObjectId(other))
}

function isCompound(value: unknown): boolean {
  return isObject(value) && !isSingleValue(value)
}

/**
 * Returns a string for an `_id`, by which records are told apart: `1` and `'1'` have different ones,
 * an id that was written and the same one as it is read have the same.
 */
export function getIdKey(id: unknown): string {
  if (isObjectId(id)) return id.toHexString()
  if (typeof id === 'string') return JSON.stringify(id)
  // The driver reads a small `Long` or `bigint` as a number, and a `Buffer` as a `Binary`.
  const read = BSON.deserialize(BSON.serialize({ id }))
  return BSON.EJSON.stringify(read, { relaxed: false })
}

/**
 * The keyword `objectid` for an Ajv of your own: `ajv.addKeyword(keywordObjectId)`. That of Remex has
 * it already. Where a schema says `objectid: true`, ObjectIds are valid, and strings of 24 hexadecimal
 * digits, in the place of which an ObjectId is put into the data. Every other value is an error of the
 * validation that names the place, an object of JSON that imitates an ObjectId too.
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
  // The schema of the whole data has no place to put an ObjectId into, so a string there is invalid.
  if (place?.parentData === undefined) return false
  place.parentData[place.parentDataProperty] = id
  return true
}

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

/** The ObjectId of a value; what is `undefined` or `null` stays so. */
type Resolved<Value> = ObjectId | (Value & (null | undefined))

/** A condition on a field with ObjectIds. */
export interface ObjectIdQuery {
  /** One of these. */
  $in?: ObjectId[]
  /** None of these. */
  $nin?: ObjectId[]
  /** Another one than this. */
  $ne?: ObjectId
}

/**
 * Returns the ObjectId that a string of 24 hexadecimal digits or an ObjectId of another copy of the
 * driver stands for, an ObjectId as it is. `undefined` and `null` stay what they are: no id is ever
 * made up. It is a resolver for a field of data: `resolve({ properties: { authorId: resolveObjectId } })`.
 * @throws {BadRequest} any other value
 */
export function resolveObjectId<Value>(value: Value): Resolved<Value> {
  if (value === undefined || value === null) return value as Resolved<Value>
  const id = toObjectId(value)
  if (isObjectId(id)) return id
  throw new BadRequest('An id must be an ObjectId or a string of 24 hexadecimal digits')
}

/**
 * Returns the condition on a field of a query with ObjectIds in it: what {@link resolveObjectId}
 * returns for one id, and for an object the same in `$in`, `$nin` and `$ne`.
 * It is a resolver for a field of a query: `resolve({ properties: { authorId: resolveQueryObjectId } })`.
 * @throws {BadRequest} any other operator, a list that is none, or a value that is no id
 */
export function resolveQueryObjectId<Value>(value: Value): Resolved<Value> | ObjectIdQuery {
  if (!isPlainObject(value)) return resolveObjectId(value)
  const conditions = Object.entries(value).map(([operator, operand]): [string, unknown] => {
    if (operator === '$ne') return [operator, resolveObjectId(operand)]
    if (operator !== '$in' && operator !== '$nin') {
      throw new BadRequest(`Invalid query parameter ${operator}: ids take $in, $nin and $ne`)
    }
    const list = toList(operand)
    if (list === undefined) throw new BadRequest(`${operator} must be a list`)
    return [operator, list.map(resolveObjectId)]
  })
  return Object.fromEntries(conditions)
}
