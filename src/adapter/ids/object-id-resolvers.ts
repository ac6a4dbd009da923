import type { ObjectId } from 'mongodb'
import { toList } from '../../core/checked-query.ts'
import { BadRequest } from '../../core/errors/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { isObjectId, toObjectId } from '../object-id.ts'

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

/** How the value of each operator is resolved. */
const OPERATORS: ReadonlyMap<string, (value: unknown, operator: string) => unknown> = new Map([
  ['$in', resolveList],
  ['$nin', resolveList],
  ['$ne', resolveObjectId],
])

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
  const conditions = Object.entries(value).map(([operator, operand]) => {
    const resolveOperand = OPERATORS.get(operator)
    if (resolveOperand === undefined) {
      throw new BadRequest(`Invalid query parameter ${operator}: ids take $in, $nin and $ne`)
    }
    return [operator, resolveOperand(operand, operator)]
  })
  return Object.fromEntries(conditions)
}

function resolveList(value: unknown, operator: string): unknown {
  const list = toList(value)
  if (list === undefined) throw new BadRequest(`${operator} must be a list`)
  return list.map(resolveObjectId)
}
