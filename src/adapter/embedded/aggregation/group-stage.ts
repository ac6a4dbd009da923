import type { Document } from 'bson'
import { Decimal128, Long } from 'bson'
import { isDocument, isNullish, isNumeric, typeNameOf } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import { compareValues, keyOf, valuesByKey } from '../../matching/compare.ts'
import { isPlainName, setField, startsWithOperator } from '../../matching/field-paths.ts'
import type { CompileExpression } from '../../matching/filter.ts'
import { compileSort } from '../queries/sort.ts'
import type { Stage } from './stage.ts'

/** The stage `$group`. */
export const group: Stage = (spec, { collation, compileExpression }) => {
  if (!isDocument(spec)) throw new CommandError(15947, "a group's fields must be an object")
  const { _id: id, ...fields } = spec
  if (id === undefined) throw new CommandError(15955, 'a group specification must include an _id')
  const readId = compileId(id, compileExpression)
  const outputs = Object.entries(fields).map(([name, field]) => {
    if (!isPlainName(name)) {
      const code = name.startsWith('$') ? 40236 : 40235
      throw new CommandError(code, `'${name}' is not a valid field name in a group`)
    }
    const [operator, operand] = readAccumulator(name, field)
    const accumulate = ACCUMULATORS.get(operator)
    if (accumulate === undefined) throw notSupported(`The group operator '${operator}'`, 15952)
    if (operator === '$count' && !(isDocument(operand) && Object.keys(operand).length === 0)) {
      throw new CommandError(14, '$count takes no arguments, i.e. $count:{}')
    }
    return { name, accumulate, read: compileExpression(operand) }
  })
  return (documents) => {
    const groups = new Map<string, { readonly id: unknown; readonly members: Document[] }>()
    for (const document of documents) {
      const value = readId(document)
      const key = keyOf(value, collation)
      const known = groups.get(key)
      if (known === undefined) groups.set(key, { id: value, members: [document] })
      else known.members.push(document)
    }
    return [...groups.values()].map(({ id: _id, members }) => {
      const result: Document = { _id }
      for (const { name, accumulate, read } of outputs) {
        setField(result, name, accumulate(members.map(read), collation))
      }
      return result
    })
  }
}

/** A missing key is null, and so is the value of the only field of an object. */
function compileId(id: unknown, compile: CompileExpression): (document: Document) => unknown {
  const evaluate = compile(id)
  if (!isDocument(id) || startsWithOperator(id)) return (document) => evaluate(document) ?? null
  if (Object.values(id).some((value) => typeof value === 'boolean' || isNumeric(value))) {
    throw new CommandError(17390, '$group does not support inclusion-style expressions')
  }
  const [only, ...others] = Object.keys(id)
  if (only === undefined || others.length > 0) return evaluate
  return (document) => ({ [only]: null, ...(evaluate(document) as Document) })
}

/** The stage `$sortByCount`. */
export const sortByCount: Stage = (spec, scope) => {
  const isPath = typeof spec === 'string' && spec.startsWith('$')
  if (!isPath && !(isDocument(spec) && startsWithOperator(spec))) {
    const message = '$sortByCount must be a path that starts with $, or an expression'
    const code = typeof spec === 'string' ? 40148 : isDocument(spec) ? 40147 : 40149
    throw new CommandError(code, message)
  }
  const run = group({ _id: spec, count: { $sum: 1 } }, scope)
  const sort = compileSort({ count: -1 }, scope.collation)
  return (documents) => sort(run(documents))
}

function readAccumulator(name: string, field: unknown): [string, unknown] {
  const operators = isDocument(field) ? Object.entries(field) : []
  const [first] = operators
  if (first === undefined || !first[0].startsWith('$')) {
    throw new CommandError(40234, `The field '${name}' must be an accumulator object`)
  }
  if (operators.length > 1) {
    throw new CommandError(40238, `The field '${name}' must specify one accumulator`)
  }
  if (Array.isArray(first[1])) {
    throw new CommandError(40237, `The ${first[0]} accumulator is a unary operator`)
  }
  return first
}

/** Returns the result of one group from its values; `undefined` is a missing one. */
export type Accumulator = (values: readonly unknown[], collation: Collation | undefined) => unknown

/** All accumulators that a group supports. */
export const ACCUMULATORS: ReadonlyMap<string, Accumulator> = new Map<string, Accumulator>([
  ['$sum', sum],
  ['$avg', average],
  ['$min', (values, collation) => extreme(values, -1, collation)],
  ['$max', (values, collation) => extreme(values, 1, collation)],
  ['$push', (values) => values.filter((value) => value !== undefined)],
  ['$addToSet', toSet],
  ['$first', (values) => values[0] ?? null],
  ['$last', (values) => values.at(-1) ?? null],
  ['$mergeObjects', mergeObjects],
  ['$count', (values) => values.length],
])

/** A sum of integers is a long if it fits, otherwise a double. */
function sum(values: readonly unknown[]): unknown {
  const numbers = values.filter(isNumeric)
  const { total, rest } = addExactly(numbers)
  const isWhole = numbers.every((value) => value instanceof Long || Number.isSafeInteger(value))
  if (!isWhole || (rest === 0 && Number.isSafeInteger(total))) return total
  const whole = BigInt(total) + BigInt(rest)
  return BigInt.asIntN(64, whole) === whole ? Long.fromBigInt(whole) : total
}

function average(values: readonly unknown[]): unknown {
  const numbers = values.filter(isNumeric)
  return numbers.length === 0 ? null : addExactly(numbers).total / numbers.length
}

/** Returns a sum and its rounding error, as 2Sum and Fast2Sum do: ten times 0.1 is 1. */
function addExactly(numbers: readonly unknown[]): { total: number; rest: number } {
  let [total, rest, simple] = [0, 0, 0]
  const add = (number: number): void => {
    simple += number
    const small = number + rest
    const next = total + small
    const before = next - small
    rest = rest - (small - number) + (total - before + (small - (next - before)))
    total = next
  }
  for (const number of numbers) {
    if (number instanceof Decimal128) throw notSupported('$sum with Decimal128')
    if (number instanceof Long) add(number.getLowBitsUnsigned())
    add(number instanceof Long ? number.getHighBits() * 2 ** 32 : Number(number))
  }
  // With an infinite number, the rounding error is NaN.
  return { total: Number.isNaN(total) ? simple : total, rest }
}

function extreme(
  values: readonly unknown[],
  direction: 1 | -1,
  collation: Collation | undefined,
): unknown {
  const present = values.filter((value) => !isNullish(value))
  if (present.length === 0) return null
  return present.reduce((best, value) =>
    compareValues(value, best, collation) * direction > 0 ? value : best,
  )
}

function toSet(values: readonly unknown[], collation: Collation | undefined): unknown[] {
  const present = values.filter((value) => value !== undefined)
  return [...valuesByKey(present, collation).values()]
}

/** Returns one document with the fields of all; null and missing ones are skipped. */
export function mergeObjects(values: readonly unknown[]): Document {
  const merged: Document = {}
  for (const value of values) {
    if (isNullish(value)) continue
    if (!isDocument(value)) {
      throw new CommandError(40400, `$mergeObjects requires an object, not ${typeNameOf(value)}`)
    }
    for (const [name, child] of Object.entries(value)) setField(merged, name, child)
  }
  return merged
}
