import type { Document } from 'bson'
import { isDocument, isNullish } from '../../../matching/bson-type.ts'
import { CommandError } from '../../../matching/command-error.ts'
import type { Collation } from '../../../matching/compare.ts'
import { compareValues, isEqual, isTrue } from '../../../matching/compare.ts'
import { spendItems } from '../../limits.ts'
import type { Bindings, Compile, Evaluate, Operator, Operators, Scope } from './operator.ts'
import { checkArray, positional } from './operator.ts'

const MANY = Number.POSITIVE_INFINITY

/** Comparisons, boolean operators and conditions. */
export const LOGIC: Operators = {
  $eq: comparison((order) => order === 0),
  $ne: comparison((order) => order !== 0),
  $gt: comparison((order) => order > 0),
  $gte: comparison((order) => order >= 0),
  $lt: comparison((order) => order < 0),
  $lte: comparison((order) => order <= 0),
  $cmp: comparison(Math.sign),
  $in: positional(2, 2, ([value, list], collation) => {
    if (Array.isArray(list)) return list.some((item) => isSame(item, value, collation))
    throw new CommandError(40081, '$in requires an array as a second argument')
  }),
  $and: lazy(
    [0, MANY],
    (conditions) => (root, bindings) =>
      conditions.every((condition) => isTrue(condition(root, bindings))),
  ),
  $or: lazy(
    [0, MANY],
    (conditions) => (root, bindings) =>
      conditions.some((condition) => isTrue(condition(root, bindings))),
  ),
  $not: positional(1, 1, ([value]) => !isTrue(value)),
  $cond: {
    ...lazy(
      [3, 3],
      ([condition, yes, no]) =>
        (root, bindings) =>
          (isTrue(condition?.(root, bindings)) ? yes : no)?.(root, bindings),
    ),
    names: ['if', 'then', 'else'],
  },
  $ifNull: lazy([2, MANY], (inputs) => (root, bindings) => {
    let value: unknown
    for (const input of inputs) {
      value = input(root, bindings)
      if (!isNullish(value)) break
    }
    return value
  }),
  $switch: { names: ['branches', 'default?'], build: buildSwitch },
  $literal: {
    isRaw: true,
    build:
      ([value]) =>
      () =>
        value,
  },
}

/** Unlike in a filter, a missing value is not equal to null, but sorts below it. */
function compare(a: unknown, b: unknown, collation: Collation | undefined): number {
  const missing = Number(a !== undefined) - Number(b !== undefined)
  return missing === 0 ? compareValues(a, b, collation) : missing
}

function isSame(a: unknown, b: unknown, collation: Collation | undefined): boolean {
  return (a === undefined) === (b === undefined) && isEqual(a, b, collation)
}

function comparison(toResult: (order: number) => unknown): Operator {
  return positional(2, 2, ([a, b], collation) => toResult(compare(a, b, collation)))
}

/** Returns an operator that evaluates only the operands it needs: others may fail. */
function lazy(
  count: readonly [number, number],
  build: (operands: readonly Evaluate[]) => Evaluate,
): Operator {
  return {
    count,
    build: (operands, scope, compile) => build(operands.map((operand) => compile(operand, scope))),
  }
}

function buildSwitch(
  [branches, fallback]: readonly unknown[],
  scope: Scope,
  compile: Compile,
): Evaluate {
  if (!Array.isArray(branches) || branches.length === 0) {
    throw new CommandError(40068, '$switch requires at least one branch')
  }
  const compiled = branches.map((branch) => {
    const { case: condition, then: result, ...rest } = checkBranch(branch)
    const unknown = Object.keys(rest)[0]
    if (unknown !== undefined) {
      throw new CommandError(40063, `$switch found an unknown argument to a branch: ${unknown}`)
    }
    return { condition: compile(condition, scope), result: compile(result, scope) }
  })
  const other = fallback === undefined ? undefined : compile(fallback, scope)
  return (root, bindings) => {
    const branch = compiled.find(({ condition }) => isTrue(condition(root, bindings)))
    const result = branch?.result ?? other
    if (result !== undefined) return result(root, bindings)
    const message =
      '$switch could not find a matching branch for an input, and no default was specified'
    throw new CommandError(40066, message)
  }
}

function checkBranch(branch: unknown): Document {
  if (isDocument(branch) && 'case' in branch && 'then' in branch) return branch
  const code = !isDocument(branch) ? 40062 : 'case' in branch ? 40065 : 40064
  throw new CommandError(code, '$switch requires each branch to have a case and a then')
}

/** Operators that evaluate an expression with its own variables. */
export const VARIABLES: Operators = {
  $let: { names: ['vars', 'in'], build: buildLet },
  $map: { names: ['input', 'as?', 'in'], build: buildMap },
  $filter: { names: ['input', 'as?', 'cond'], build: buildFilter },
  $reduce: { names: ['input', 'initialValue', 'in'], build: buildReduce },
}

/** Returns bindings with one more variable in front. */
export function bind(name: string, value: unknown, next: Bindings | undefined): Bindings {
  return { name, value, next }
}

/** @throws {CommandError} 16867 a variable cannot have this name */
export function checkVariable(name: unknown): string {
  if (typeof name === 'string' && /^[a-z\u0080-\uffff][\w\u0080-\uffff]*$/.test(name)) return name
  throw new CommandError(16867, `'${String(name)}' is not a valid variable name`)
}

/** Returns a scope that also knows these variables. */
function extendScope(scope: Scope, names: readonly string[]): Scope {
  return { ...scope, names: new Set([...scope.names, ...names.map(checkVariable)]) }
}

function buildLet([vars, body]: readonly unknown[], scope: Scope, compile: Compile): Evaluate {
  if (!isDocument(vars)) throw new CommandError(16874, "invalid parameter: 'vars' of $let")
  const values = Object.entries(vars).map(([name, value]) => ({
    name,
    value: compile(value, scope),
  }))
  const run = compile(body, extendScope(scope, Object.keys(vars)))
  return (root, bindings) =>
    run(
      root,
      values.reduce((inner, { name, value }) => bind(name, value(root, bindings), inner), bindings),
    )
}

function buildMap(operands: readonly unknown[], scope: Scope, compile: Compile): Evaluate {
  const [input, as = 'this', body] = operands
  const name = checkVariable(as)
  const items = compile(input, scope)
  const run = compile(body, extendScope(scope, [name]))
  return (root, bindings) => {
    const list = items(root, bindings)
    if (isNullish(list)) return null
    spendItems(checkArray('$map', list, 16883).length)
    return (list as unknown[]).map((item) => run(root, bind(name, item, bindings)) ?? null)
  }
}

function buildFilter(operands: readonly unknown[], scope: Scope, compile: Compile): Evaluate {
  const [input, as = 'this', condition] = operands
  const name = checkVariable(as)
  const items = compile(input, scope)
  const accepts = compile(condition, extendScope(scope, [name]))
  return (root, bindings) => {
    const list = items(root, bindings)
    if (isNullish(list)) return null
    const found = checkArray('$filter', list, 28651).filter((item) =>
      isTrue(accepts(root, bind(name, item, bindings))),
    )
    spendItems(found.length)
    return found
  }
}

function buildReduce(operands: readonly unknown[], scope: Scope, compile: Compile): Evaluate {
  const [input, initial, body] = operands
  const items = compile(input, scope)
  const start = compile(initial, scope)
  const run = compile(body, extendScope(scope, ['this', 'value']))
  return (root, bindings) => {
    const list = items(root, bindings)
    if (isNullish(list)) return null
    return checkArray('$reduce', list, 40080).reduce(
      (value, item) => run(root, bind('value', value, bind('this', item, bindings))),
      start(root, bindings),
    )
  }
}
