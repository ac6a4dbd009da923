import type { Document } from 'bson'
import { CommandError } from '../../errors/command-error.ts'
import { isDocument, isNullish } from '../../values/bson-type.ts'
import { getField, setField } from '../../values/field-paths.ts'
import { typeNameOf } from '../../values/type-names.ts'
import { checkArray, checkString } from './argument-checks.ts'
import type { Compile, Evaluate, Operators, Scope } from './operator.ts'
import { orNull, positional } from './operator.ts'

/** Operators on documents. */
export const OBJECTS: Operators = {
  $arrayToObject: orNull(positional(1, 1, ([pairs]) => arrayToObject(pairs))),
  $objectToArray: orNull(
    positional(1, 1, ([value]) =>
      Object.entries(checkDocument('$objectToArray', value, 40390)).map(([k, v]) => ({ k, v })),
    ),
  ),
  $mergeObjects: positional(0, Number.POSITIVE_INFINITY, mergeObjects),
  $getField: { count: [1, 1], names: ['field', 'input?'], build: buildGetField },
  $setField: { names: ['field', 'input', 'value'], build: buildSetField },
  $unsetField: {
    names: ['field', 'input'],
    build: ([field, input], scope, compile) =>
      buildSetField([field, input, '$$REMOVE'], scope, compile),
  },
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

function buildGetField(operands: readonly unknown[], scope: Scope, compile: Compile): Evaluate {
  const [field, input = '$$CURRENT'] = operands
  const readName = compile(field, scope)
  const readInput = compile(input, scope)
  return (root, bindings) => {
    const name = checkString("$getField's field", readName(root, bindings), 3041704)
    const source = readInput(root, bindings)
    if (isNullish(source)) return source
    return isDocument(source) ? getField(source, name) : undefined
  }
}

function buildSetField(operands: readonly unknown[], scope: Scope, compile: Compile): Evaluate {
  const [field, input, value] = operands.map((operand) => compile(operand, scope))
  return (root, bindings) => {
    const name = checkString("$setField's field", field?.(root, bindings), 4161107)
    const source = input?.(root, bindings)
    if (isNullish(source)) return null
    const copy = { ...checkDocument("$setField's input", source, 4161105) }
    const next = value?.(root, bindings)
    if (next === undefined) delete copy[name]
    else setField(copy, name, next)
    return copy
  }
}
