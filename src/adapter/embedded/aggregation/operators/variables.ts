import { CommandError } from '../../errors.ts'
import { spendItems } from '../../limits.ts'
import { isDocument, isNullish } from '../../values/bson-type.ts'
import { isTrue } from '../../values/compare.ts'
import type { Bindings, Compile, Evaluate, Operators, Scope } from './operator.ts'
import { checkArray, checkInteger } from './operator.ts'

/** Operators that evaluate an expression with variables of its own. */
export const VARIABLES: Operators = {
  $let: { names: ['vars', 'in'], build: buildLet },
  $map: { names: ['input', 'as?', 'in'], build: buildMap },
  $filter: { names: ['input', 'as?', 'cond', 'limit?'], build: buildFilter },
  $reduce: { names: ['input', 'initialValue', 'in'], build: buildReduce },
}

/** Returns bindings with one more variable in front. */
export function bind(name: string, value: unknown, next: Bindings | undefined): Bindings {
  return { name, value, next }
}

/** @throws {CommandError} 16867 a variable of this name cannot be made */
export function checkVariable(name: unknown): string {
  if (typeof name === 'string' && /^[a-z\u0080-\uffff][\w\u0080-\uffff]*$/.test(name)) return name
  throw new CommandError(16867, `'${String(name)}' is not a valid variable name`)
}

/** Returns a scope in which these variables are known as well. */
export function extendScope(scope: Scope, names: readonly string[]): Scope {
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
  const [input, as, body] = operands
  const name = checkVariable(as ?? 'this')
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
  const [input, as, condition, limit] = operands
  const name = checkVariable(as ?? 'this')
  const items = compile(input, scope)
  const accepts = compile(condition, extendScope(scope, [name]))
  const most = compile(limit ?? null, scope)
  return (root, bindings) => {
    const list = items(root, bindings)
    if (isNullish(list)) return null
    const count =
      most(root, bindings) === null
        ? Number.POSITIVE_INFINITY
        : checkInteger("$filter's limit", most(root, bindings), 327392, 1)
    const found: unknown[] = []
    for (const item of checkArray('$filter', list, 28651)) {
      if (found.length >= count) break
      if (isTrue(accepts(root, bind(name, item, bindings)))) found.push(item)
    }
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
