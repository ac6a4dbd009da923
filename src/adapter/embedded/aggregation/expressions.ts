import type { Document } from 'bson'
import { isDocument } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import { isPlainName, setField, startsWithOperator, valueAt } from '../../matching/field-paths.ts'
import type { CompileExpression } from '../../matching/filter.ts'
import { ACCUMULATORS, mergeObjects } from './group-stage.ts'
import { ARITHMETIC } from './operators/arithmetic.ts'
import { ARRAYS } from './operators/arrays.ts'
import { TYPES } from './operators/conversions.ts'
import { DATES } from './operators/dates.ts'
import { bind, checkVariable, LOGIC, VARIABLES } from './operators/logic.ts'
import type { Bindings, Evaluate, Operator, Scope } from './operators/operator.ts'
import { positional } from './operators/operator.ts'
import { STRINGS } from './operators/strings.ts'

/**
 * All operators that an expression may have, each tested against MongoDB's manual. A Map, so that names such
 * as `constructor` find nothing.
 */
export const EXPRESSION_OPERATORS: ReadonlyMap<string, Operator> = new Map(
  Object.entries({
    ...ARITHMETIC,
    ...ARRAYS,
    ...DATES,
    ...LOGIC,
    ...STRINGS,
    ...TYPES,
    ...VARIABLES,
    $mergeObjects: positional(0, Number.POSITIVE_INFINITY, mergeObjects),
    ...Object.fromEntries(['$sum', '$avg', '$min', '$max'].map((name) => [name, overList(name)])),
  }),
)

/** Returns a compiler of expressions that know these variables, by name without the dollars. */
export function createCompiler(
  collation: Collation | undefined,
  variables: Document,
): CompileExpression {
  const names = Object.keys(variables)
  const scope: Scope = { collation, names: new Set([...SYSTEM_VARIABLES, ...names]) }
  const bindings = names.reduce<Bindings | undefined>(
    (next, name) => bind(name, variables[name], next),
    undefined,
  )
  return (expression) => {
    const evaluate = compile(expression, scope)
    return (document) => evaluate(document, bindings)
  }
}

/**
 * Returns a function that computes the variables of a command: its `let`, and the time.
 * @throws {CommandError} a name is not valid for a variable, or a value is not a valid expression
 */
export function compileVariables(constants: unknown): () => Document {
  const compileValue = createCompiler(undefined, {})
  const values = Object.entries((constants ?? {}) as Document).map(
    ([name, value]) => [checkVariable(name), compileValue(value)] as const,
  )
  return () => ({
    NOW: new Date(),
    ...Object.fromEntries(values.map(([name, evaluate]) => [name, evaluate({})])),
  })
}

const SYSTEM_VARIABLES = ['ROOT', 'CURRENT', 'REMOVE']

function compile(expression: unknown, scope: Scope): Evaluate {
  if (typeof expression === 'string' && expression.startsWith('$')) {
    return compilePath(expression, scope)
  }
  if (Array.isArray(expression)) {
    const items = expression.map((item) => compile(item, scope))
    // An expression without a value becomes null in an array, and no field in a document.
    return (root, bindings) => items.map((item) => item(root, bindings) ?? null)
  }
  if (!isDocument(expression)) return () => expression
  return startsWithOperator(expression)
    ? compileOperator(expression, scope)
    : compileDocument(expression, scope)
}

/** `$a.b` is a field of the document, `$$name.b` one of a variable. */
function compilePath(path: string, scope: Scope): Evaluate {
  const isVariable = path.startsWith('$$')
  const parts = path.slice(isVariable ? 2 : 1).split('.')
  if (parts.some((part) => /^$|^\$|\0/.test(part))) {
    throw new CommandError(16410, `'${path}' is not a valid field path`)
  }
  const name = isVariable ? (parts.shift() ?? '') : 'ROOT'
  if (!scope.names.has(name)) throw new CommandError(17276, `Use of undefined variable: ${name}`)
  if (name === 'REMOVE') return () => undefined
  if (name === 'ROOT' || name === 'CURRENT') return (root) => valueAt(root, parts)
  return (_root, bindings) => {
    let binding = bindings
    while (binding !== undefined && binding.name !== name) binding = binding.next
    return valueAt(binding?.value, parts)
  }
}

function compileDocument(expression: Document, scope: Scope): Evaluate {
  const fields = Object.entries(expression).map(([name, value]) => {
    if (!isPlainName(name)) {
      throw new CommandError(16412, `'${name}' is not a valid field name in an expression`)
    }
    return { name, evaluate: compile(value, scope) }
  })
  return (root, bindings) => {
    const result: Document = {}
    for (const { name, evaluate } of fields) {
      const value = evaluate(root, bindings)
      if (value !== undefined) setField(result, name, value)
    }
    return result
  }
}

function compileOperator(expression: Document, scope: Scope): Evaluate {
  const names = Object.keys(expression)
  const [name = ''] = names
  if (names.length > 1) {
    const message = 'an object representing an expression must have exactly one field'
    throw new CommandError(15983, message)
  }
  const operator = EXPRESSION_OPERATORS.get(name)
  if (operator === undefined) throw notSupported(`Unrecognized expression '${name}': it`, 168)
  const operands = readOperands(name, expression[name], operator)
  if (operator.build !== undefined) return operator.build(operands, scope, compile)
  const isNamed = operator.names !== undefined
  const values = operands.map((operand) =>
    // For named arguments, a missing value becomes null, and `undefined` means not given.
    compile(isNamed && operand !== undefined ? { $ifNull: [operand, null] } : operand, scope),
  )
  return (root, bindings) =>
    operator.compute?.(
      values.map((value) => value(root, bindings)),
      scope.collation,
    )
}

/** An accumulator as an expression: over its arguments, or the items of a single one. */
function overList(name: string): Operator {
  return positional(0, Number.POSITIVE_INFINITY, (values, collation) => {
    const [first] = values
    const list = values.length === 1 && Array.isArray(first) ? first : values
    return ACCUMULATORS.get(name)?.(list, collation)
  })
}

/**
 * Returns the arguments of an operator, in the operator's order.
 * @throws {CommandError} 9, 16020 one is missing or too many
 */
function readOperands(name: string, operand: unknown, operator: Operator): unknown[] {
  const { names, count, isRaw = false } = operator
  if (isRaw) return [operand]
  const isNamed = isDocument(operand) && !startsWithOperator(operand)
  if (names !== undefined && isNamed) return readNamed(name, operand, names)
  if (count === undefined) throw new CommandError(9, `${name} takes an object of arguments`)
  const operands: unknown[] = Array.isArray(operand) ? operand : [operand]
  const [least, most] = count
  if (operands.length >= least && operands.length <= most) return operands
  const wanted = least === most ? `exactly ${least}` : `${least} to ${most}`
  const passed = `${operands.length} were passed in.`
  throw new CommandError(16020, `Expression ${name} takes ${wanted} arguments. ${passed}`)
}

function readNamed(name: string, operand: Document, names: readonly string[]): unknown[] {
  const plain = names.map((one) => one.replace('?', ''))
  const unknown = Object.keys(operand).find((one) => !plain.includes(one))
  if (unknown !== undefined) {
    throw new CommandError(9, `Unrecognized parameter to ${name}: ${unknown}`)
  }
  const missing = names.find((one) => !one.endsWith('?') && !Object.hasOwn(operand, one))
  if (missing !== undefined) throw new CommandError(9, `Missing '${missing}' parameter to ${name}`)
  return plain.map((one) => (Object.hasOwn(operand, one) ? operand[one] : undefined))
}
