import type { Document } from 'bson'
import { Binary, calculateObjectSize, Decimal128, Long, ObjectId } from 'bson'
import { Context, evalExpr } from 'mingo/core'
import * as accumulators from 'mingo/operators/accumulator'
import * as expressions from 'mingo/operators/expression'
import * as windows from 'mingo/operators/window'
import { ACCUMULATORS } from './accumulators.ts'
import type { Collation } from './collation.ts'
import { bsonTagOf, compareValues, isDocument, isEqual } from './compare.ts'
import { CommandError, notSupported } from './errors.ts'
import { isRegex, toRegExp } from './regular-expression.ts'
import { typeNameOf } from './type-names.ts'

const MAX_RANGE = 1_000_000

/** What mingo hands to its operators; it does not export the class. */
export type MingoOptions = Parameters<typeof evalExpr>[2]

/** An operator of an expression: takes the current document and its own operand, unevaluated. */
export type Expression = (document: unknown, operand: unknown, options: MingoOptions) => unknown

/** Returns a function that evaluates expressions over documents. */
export function createEvaluator(
  collation?: Collation,
  variables: Document = {},
): (document: Document, expression: unknown) => unknown {
  const options = {
    context: createExpressionContext(collation),
    variables,
  } as unknown as MingoOptions
  const prepared = new Map<unknown, unknown>()
  return (document, expression) => {
    if (!prepared.has(expression)) prepared.set(expression, prepareExpression(expression))
    return evalExpr(document, prepared.get(expression), options)
  }
}

/** Returns the value of an expression without a collation and without variables. */
export function evaluate(document: Document, expression: unknown): unknown {
  return createEvaluator()(document, expression)
}

/** Returns an expression as mingo can take it. @throws {CommandError} it holds what is refused */
export function prepareExpression(expression: unknown): unknown {
  if (isRegex(expression)) return toRegExp(expression)
  if (Array.isArray(expression)) return expression.map(prepareExpression)
  if (!isDocument(expression)) return expression
  const entries = Object.entries(expression).map(([name, operand]) => {
    if (REFUSED.has(name)) throw notSupported(name, 168)
    const isKnown = !name.startsWith('$') || OWN.has(name) || BUILT_IN_NAMES.has(name)
    if (!isKnown)
      throw new CommandError(
        168,
        `Unrecognized expression '${name}' (it is not in the embedded server)`,
      )
    return [name, name === '$literal' ? operand : prepareExpression(operand)]
  })
  return Object.fromEntries(entries)
}

/** Operators of windows stand where expressions do. */
const BUILT_IN_NAMES: ReadonlySet<string> = new Set(
  [expressions, accumulators, windows].flatMap((operators) => Object.keys(operators)),
)

const REFUSED: ReadonlySet<string> = new Set([
  '$function',
  '$accumulator',
  '$meta',
  '$toDecimal',
  '$toHashedIndexKey',
])

/** mingo compares numbers of JavaScript only; these would count other numbers as nothing. */
const ARITHMETIC = [
  '$abs',
  '$add',
  '$ceil',
  '$divide',
  '$exp',
  '$floor',
  '$ln',
  '$log',
  '$log10',
  '$mod',
  '$multiply',
  '$pow',
  '$round',
  '$sqrt',
  '$subtract',
  '$trunc',
] as const

/** Returns mingo's operators with ours in the place of those that differ from MongoDB. */
export function createExpressionContext(collation?: Collation): Context {
  const own = { ...Object.fromEntries(OWN), ...createComparisons(collation) }
  // The first context wins. mingo types operators by its own; ours take and give `unknown`.
  return Context.from(
    Context.init({ expression: own as never, accumulator: OWN_ACCUMULATORS as never }),
    Context.init({ expression: BUILT_IN as never, accumulator: { ...accumulators } as never }),
  )
}

const BUILT_IN: Readonly<Record<string, Expression>> = { ...expressions } as never

function createComparisons(collation: Collation | undefined): Record<string, Expression> {
  const comparison =
    (toResult: (order: number) => unknown): Expression =>
    (document, operand, options) => {
      const [a, b] = readPair(document, operand, options)
      // Unlike in a filter, a missing value is not equal to null but below it.
      const missing = Number(a !== undefined) - Number(b !== undefined)
      return toResult(missing === 0 ? compareValues(a, b, collation) : missing)
    }
  return {
    $eq: comparison((order) => order === 0),
    $ne: comparison((order) => order !== 0),
    $gt: comparison((order) => order > 0),
    $gte: comparison((order) => order >= 0),
    $lt: comparison((order) => order < 0),
    $lte: comparison((order) => order <= 0),
    $cmp: comparison(Math.sign),
    $in: (document, operand, options) => {
      const [value, list] = readPair(document, operand, options)
      if (!Array.isArray(list))
        throw new CommandError(40081, '$in requires an array as a second argument')
      return list.some((item) => isEqual(item, value, collation))
    },
  }
}

function readPair(document: unknown, operand: unknown, options: MingoOptions): [unknown, unknown] {
  const values = evalExpr(document, operand, options)
  if (Array.isArray(values) && values.length === 2) return values as [unknown, unknown]
  throw new CommandError(16020, 'A comparison takes exactly 2 arguments')
}

/** An operator of one argument, which may stand in an array of length 1. */
const unary =
  (compute: (value: unknown) => unknown): Expression =>
  (document, operand, options) =>
    compute(
      evalExpr(
        document,
        Array.isArray(operand) && operand.length === 1 ? operand[0] : operand,
        options,
      ),
    )

const OWN: ReadonlyMap<string, Expression> = new Map<string, Expression>([
  ...ARITHMETIC.map((name) => [name, withPlainNumbers(name)] as const),
  ['$size', unary(toSize)],
  ['$type', unary(typeNameOf)],
  ['$toString', unary(toText)],
  ['$toObjectId', unary(toObjectId)],
  ['$bsonSize', unary((value) => (isDocument(value) ? calculateObjectSize(value) : null))],
  [
    '$binarySize',
    unary((value) => (value instanceof Binary ? value.length() : Buffer.byteLength(String(value)))),
  ],
  ['$convert', convert],
  ['$range', range],
])

const OWN_ACCUMULATORS: Readonly<Record<string, Expression>> = Object.fromEntries(
  [...ACCUMULATORS].map(([name, accumulate]) => [
    name,
    // With an operand a stage of mingo calls; without one the values have been computed.
    (values, operand, options) =>
      operand === null
        ? accumulate(values as unknown[])
        : (accumulators as unknown as Record<string, Expression>)[name]?.(values, operand, options),
  ]),
)

function withPlainNumbers(name: (typeof ARITHMETIC)[number]): Expression {
  return (document, operand, options) => {
    const values = evalExpr(document, operand, options)
    const list: unknown[] = Array.isArray(values) ? values : [values]
    if (list.some((value) => value instanceof Decimal128 || value instanceof Long)) {
      throw notSupported(`${name} with Decimal128 or a long beyond 2^53`)
    }
    const literals = list.map((value) => ({ $literal: value ?? null }))
    return BUILT_IN[name]?.(document, Array.isArray(values) ? literals : literals[0], options)
  }
}

function toSize(value: unknown): number {
  if (Array.isArray(value)) return value.length
  throw new CommandError(
    17124,
    `The argument to $size must be an array, but was of type: ${typeNameOf(value)}`,
  )
}

function toText(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (value instanceof Date) return value.toISOString()
  const isText =
    typeof value !== 'object' || ['ObjectId', 'Long', 'Decimal128'].includes(bsonTagOf(value) ?? '')
  if (isText) return String(value)
  throw new CommandError(241, `Unsupported conversion from ${typeNameOf(value)} to string`)
}

function toObjectId(value: unknown): ObjectId | null {
  if (value === undefined || value === null) return null
  if (value instanceof ObjectId) return value
  if (typeof value === 'string' && /^[0-9a-f]{24}$/i.test(value)) return new ObjectId(value)
  throw new CommandError(241, `Failed to parse objectId '${String(value)}' in $convert`)
}

const CONVERSIONS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  ['double', '$toDouble'],
  ['string', '$toString'],
  ['objectId', '$toObjectId'],
  ['bool', '$toBool'],
  ['date', '$toDate'],
  ['int', '$toInt'],
  ['long', '$toLong'],
  [1, '$toDouble'],
  [2, '$toString'],
  [7, '$toObjectId'],
  [8, '$toBool'],
  [9, '$toDate'],
  [16, '$toInt'],
  [18, '$toLong'],
])

function convert(document: unknown, operand: unknown, options: MingoOptions): unknown {
  const { input, to, onError, onNull } = operand as Document
  const value = evalExpr(document, input, options)
  if (value === undefined || value === null) return evalExpr(document, onNull ?? null, options)
  const name = CONVERSIONS.get(evalExpr(document, to, options))
  if (name === undefined) throw notSupported(`$convert to ${String(to)}`)
  try {
    return evalExpr(document, { [name]: { $literal: value } }, options)
  } catch (error) {
    if (onError === undefined) throw error
    return evalExpr(document, onError, options)
  }
}

function range(document: unknown, operand: unknown, options: MingoOptions): unknown {
  const [start, end, step = 1] = evalExpr(document, operand, options) as number[]
  const count = Math.ceil((Number(end) - Number(start)) / Number(step))
  if (count > MAX_RANGE) throw notSupported(`A $range of more than ${MAX_RANGE} items`)
  return BUILT_IN.$range?.(document, [start, end, step], options)
}
