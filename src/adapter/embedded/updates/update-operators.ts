import type { Document } from 'bson'
import { Timestamp } from 'bson'
import { isDocument, isNumeric, typeNameOf } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import { compareValues, isEqual, keyOf, keysOf } from '../../matching/compare.ts'
import { arrayOn } from '../../matching/field-paths.ts'
import type { FilterOptions } from '../../matching/filter.ts'
import { compileFilter, isLogical, isOperators, withoutExpression } from '../../matching/filter.ts'
import { calculate } from '../../matching/numbers.ts'
import { isRegex } from '../../matching/regular-expression.ts'
import { compileSort } from '../queries/sort.ts'

/** What an update operator needs, other than the old value and its operand. */
export interface UpdateOptions extends FilterOptions {
  readonly now: Date
}

/** Returns the new value of a field from the old one; `undefined` for no value. */
export type UpdateOperator = (
  old: unknown,
  operand: unknown,
  options: UpdateOptions,
  path: string,
) => unknown

/** Operators that leave a missing field missing; all others create it. */
export const NEVER_CREATING: ReadonlySet<string> = new Set(['$unset', '$pop', '$pull', '$pullAll'])

/** The update operators by name, except `$rename`, which works on two paths: see `update.ts`. */
export const UPDATE_OPERATORS: ReadonlyMap<string, UpdateOperator> = new Map<
  string,
  UpdateOperator
>([
  ['$set', (_old, operand) => operand],
  ['$setOnInsert', (_old, operand) => operand],
  ['$unset', () => undefined],
  ['$inc', (old, operand, _options, path) => compute('$inc', old, operand, path)],
  ['$mul', (old, operand, _options, path) => compute('$mul', old, operand, path)],
  ['$min', pick((order) => order < 0)],
  ['$max', pick((order) => order > 0)],
  ['$currentDate', toCurrentDate],
  ['$push', push],
  ['$addToSet', addToSet],
  ['$pop', pop],
  ['$pull', pull],
  ['$pullAll', pullAll],
])

function compute(name: '$inc' | '$mul', old: unknown, operand: unknown, path: string): unknown {
  const verb = name === '$inc' ? 'increment' : 'multiply'
  if (!isNumeric(operand)) {
    const message = `Cannot ${verb} with non-numeric argument: {${path}: ${String(operand)}}`
    throw new CommandError(14, message)
  }
  if (old !== undefined && !isNumeric(old)) {
    const type = typeNameOf(old)
    const message = `Cannot apply ${name} to a value of non-numeric type. The field '${path}' has non-numeric type ${type}`
    throw new CommandError(14, message)
  }
  const result =
    name === '$inc' ? calculate(old ?? 0, operand, 'add') : calculate(old ?? 0, operand, 'multiply')
  if (result !== undefined) return result
  const isLong = typeNameOf(old) !== 'decimal' && typeNameOf(operand) !== 'decimal'
  if (isLong)
    throw new CommandError(2, `Failed to apply ${name} operations to current value (long overflow)`)
  throw notSupported(`${name} with Decimal128`)
}

function pick(accept: (order: number) => boolean): UpdateOperator {
  return (old, operand, { collation }) =>
    old === undefined || accept(compareValues(operand, old, collation)) ? operand : old
}

function toCurrentDate(_old: unknown, operand: unknown, { now }: UpdateOptions): unknown {
  if (typeof operand === 'boolean') return now
  const type = isDocument(operand) && Object.keys(operand).length === 1 ? operand.$type : undefined
  if (type === 'date') return now
  if (type === 'timestamp') return toTimestamp(now)
  throw new CommandError(2, "$currentDate takes a bool, or { $type: 'date' or 'timestamp' }")
}

/** Returns a time as a timestamp: its seconds, with the milliseconds as the counter. */
export function toTimestamp(time: Date): Timestamp {
  return new Timestamp({ t: Math.floor(time.getTime() / 1000), i: time.getMilliseconds() + 1 })
}

const PUSH_MODIFIERS: ReadonlySet<string> = new Set(['$each', '$position', '$slice', '$sort'])

function push(old: unknown, operand: unknown, options: UpdateOptions, path: string): unknown {
  const type = typeNameOf(old)
  if (old !== undefined && !Array.isArray(old)) {
    throw new CommandError(2, `The field '${path}' must be an array but is of type ${type}`)
  }
  const array = [...(old ?? [])]
  const modifiers = isDocument(operand) && isModified(operand) ? operand : { $each: [operand] }
  const unknown = Object.keys(modifiers).find((name) => !PUSH_MODIFIERS.has(name))
  if (unknown !== undefined) throw new CommandError(2, `Unrecognized clause in $push: ${unknown}`)
  const position = toInteger('$position', modifiers.$position ?? array.length)
  array.splice(position, 0, ...checkArray('$push', modifiers.$each))
  const sort: unknown = modifiers.$sort
  const sorted = sort === undefined ? array : sortItems(array, sort, options.collation)
  if (modifiers.$slice === undefined) return sorted
  const slice = toInteger('$slice', modifiers.$slice)
  return slice < 0 ? sorted.slice(slice) : sorted.slice(0, slice)
}

/** A DBRef is a value although its fields start with a dollar. */
function isModified(operand: Document): boolean {
  return '$each' in operand || isOperators(operand)
}

function sortItems(items: unknown[], sort: unknown, collation: Collation | undefined): unknown[] {
  if (isDocument(sort) && Object.keys(sort).length > 0) {
    const paths = Object.keys(sort).map((path) => path.split('.'))
    // MongoDB compares whole arrays here, not their items as when it sorts documents.
    if (items.some((item) => Array.isArray(item) || paths.some((path) => arrayOn(item, path)))) {
      throw notSupported('$sort by an array in $push')
    }
    return compileSort(sort, collation)(items as Document[])
  }
  if (sort !== 1 && sort !== -1)
    throw new CommandError(2, 'The $sort element value must be 1 or -1')
  return items.sort((a, b) => sort * compareValues(a, b, collation))
}

function addToSet(old: unknown, operand: unknown, options: UpdateOptions, path: string): unknown {
  if (old !== undefined && !Array.isArray(old)) {
    const type = typeNameOf(old)
    const message = `Cannot apply $addToSet to non-array field. Field named '${path}' has non-array type ${type}`
    throw new CommandError(2, message)
  }
  const set = [...(old ?? [])]
  const keys = keysOf(set, options.collation)
  const isList = isDocument(operand) && '$each' in operand
  const extra = isList ? Object.keys(operand).find((name) => name !== '$each') : undefined
  if (extra !== undefined) {
    throw new CommandError(2, `Found unexpected fields after $each in $addToSet: ${extra}`)
  }
  for (const item of isList ? checkArray('$addToSet', operand.$each) : [operand]) {
    const key = keyOf(item, options.collation)
    if (!keys.has(key)) set.push(item)
    keys.add(key)
  }
  return set
}

function pop(old: unknown, operand: unknown, _options: UpdateOptions, path: string): unknown {
  if (operand !== 1 && operand !== -1) throw new CommandError(9, '$pop expects 1 or -1')
  if (!Array.isArray(old)) {
    const type = typeNameOf(old)
    throw new CommandError(14, `Path '${path}' contains an element of non-array type '${type}'`)
  }
  return operand === 1 ? old.slice(0, -1) : old.slice(1)
}

/** Removes the items that match a filter, or that equal any other value. */
function pull(old: unknown, operand: unknown, options: UpdateOptions): unknown {
  const isCondition = isRegex(operand) || (isOperators(operand) && !isLogical(operand))
  const matches =
    isCondition || isDocument(operand)
      ? compileFilter(isCondition ? { item: operand } : operand, withoutExpression(options, 224))
      : undefined
  return checkArray('$pull', old).filter((item) => {
    if (matches === undefined) return !isEqual(item, operand, options.collation)
    return isCondition ? !matches({ item }) : !(isDocument(item) && matches(item))
  })
}

function pullAll(old: unknown, operand: unknown, { collation }: UpdateOptions): unknown {
  const keys = keysOf(checkArray('$pullAll', operand), collation)
  return checkArray('$pullAll', old).filter((item) => !keys.has(keyOf(item, collation)))
}

function checkArray(name: string, value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  throw new CommandError(2, `${name} needs an array, and has type ${typeNameOf(value)}`)
}

function toInteger(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value
  throw new CommandError(2, `The value for ${name} must be an integer`)
}
