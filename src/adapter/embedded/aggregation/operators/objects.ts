import type { Document } from 'bson'
import { CommandError } from '../../errors.ts'
import { isDocument, isNullish, typeNameOf } from '../../values/bson-type.ts'
import { setField } from '../../values/field-paths.ts'
import type { Operators } from './operator.ts'
import { checkArray, checkString, orNull, positional } from './operator.ts'

/** Operators on documents. */
export const OBJECTS: Operators = {
  $arrayToObject: orNull(positional(1, 1, ([pairs]) => arrayToObject(pairs))),
  $objectToArray: orNull(
    positional(1, 1, ([value]) =>
      Object.entries(checkDocument('$objectToArray', value, 40390)).map(([k, v]) => ({ k, v })),
    ),
  ),
  $mergeObjects: positional(0, Number.POSITIVE_INFINITY, mergeObjects),
}

/** Returns the fields of all documents in one; null and missing ones are left out. */
export function mergeObjects(values: readonly unknown[]): Document {
  const merged: Document = {}
  for (const value of values) {
    if (isNullish(value)) continue
    for (const [name, child] of Object.entries(checkDocument('$mergeObjects', value, 40400))) {
      setField(merged, name, child)
    }
  }
  return merged
}

function checkDocument(name: string, value: unknown, code: number): Document {
  if (isDocument(value)) return value
  throw new CommandError(code, `${name} requires an object, not ${typeNameOf(value)}`)
}

function arrayToObject(value: unknown): Document {
  const result: Document = {}
  const pairs = checkArray('$arrayToObject', value, 40386)
  const isListed = Array.isArray(pairs[0])
  for (const pair of pairs) {
    const [k, v] = isListed ? readPair(pair) : readEntry(pair)
    if (k.includes('\0')) throw new CommandError(4940400, 'Key field cannot contain a null byte')
    setField(result, k, v ?? null)
  }
  return result
}

function readPair(pair: unknown): [string, unknown] {
  if (!Array.isArray(pair) || pair.length !== 2) {
    throw new CommandError(40397, '$arrayToObject requires all items to be arrays of two')
  }
  return [checkString("$arrayToObject's key", pair[0], 40395), pair[1]]
}

function readEntry(pair: unknown): [string, unknown] {
  const isValid = isDocument(pair) && Object.keys(pair).sort().join() === 'k,v'
  if (!isValid) throw new CommandError(40398, '$arrayToObject requires objects with k and v only')
  return [checkString("$arrayToObject's key", pair.k, 40394), pair.v]
}
