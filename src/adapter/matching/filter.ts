import type { Document } from 'bson'
import { isDocument, TYPE_ORDER, typeOrderOf } from './bson-type.ts'
import { CommandError } from './command-error.ts'
import type { Collation } from './compare.ts'
import { compareValues, isEqual, isTrue } from './compare.ts'
import { isIndex, startsWithOperator, valuesAt } from './field-paths.ts'
import { isRegex } from './regular-expression.ts'
import type { ValueTest } from './value-tests.ts'
import { toListed, toModTest, toRegexTest, toSizeTest, toTypeTest } from './value-tests.ts'

/** How the `$text` of a filter matches whole documents. */
export interface TextSearch {
  readonly matches: (document: Document) => boolean
  readonly score: (document: Document) => number
}

/** What compiling a filter needs. */
export interface FilterOptions {
  readonly collation: Collation | undefined
  /** Returns an expression as a function, for `$expr`. */
  readonly compileExpression: (expression: unknown) => (document: Document) => unknown
  /** The `$text` of a statement's filter; no other filter may have one. */
  readonly text?: TextSearch | undefined
}

/** Returns whether a document matches. */
export type Predicate = (document: Document) => boolean

/**
 * Returns whether the values that a path reaches match: negations need to see all of them. `lists`
 * are the arrays among them whose items count as well: an array that is an item itself, in
 * `$elemMatch` or by its index at the end of the path, is one value.
 */
export type FieldTest = (
  values: readonly unknown[],
  lists: readonly (readonly unknown[])[],
) => boolean
/** Returns the test of an operator on a field. @throws {CommandError} the operand is not valid */
type FieldOperator = (operand: unknown, options: FilterOptions, siblings: Document) => FieldTest

/** Returns a filter as a function. @throws {CommandError} the filter is not valid */
export function compileFilter(filter: unknown, options: FilterOptions): Predicate {
  if (!isDocument(filter)) throw new CommandError(14, 'A filter must be an object')
  const tests = Object.entries(filter).map(([name, condition]) =>
    name.startsWith('$')
      ? compileLogical(name, condition, options)
      : compileField(name, condition, options),
  )
  const only = tests[0]
  if (tests.length === 1 && only !== undefined) return only
  return (document) => tests.every((test) => test(document))
}

/** Returns the options of a filter that must not have an `$expr`, which fails with this code. */
export function withoutExpression(options: FilterOptions, code: number): FilterOptions {
  const compileExpression = (): never => {
    throw new CommandError(code, '$expr can only be applied to the top-level document of a query')
  }
  return { ...options, compileExpression }
}

/** Returns the condition of one array item: operators on the item, or a filter over its fields. */
export function compileItem(condition: unknown, { text, ...given }: FilterOptions): ValueTest {
  const options = withoutExpression(given, 2)
  if (isOperators(condition) && !isLogical(condition)) {
    const test = compileOperators(condition, options)
    return (item) => test([item], [])
  }
  const matches = compileFilter(condition, options)
  // An array inside the array is searched like a document whose fields are its indexes.
  return (item) => (Array.isArray(item) ? matches({ ...item }) : isDocument(item) && matches(item))
}

function compileField(path: string, condition: unknown, options: FilterOptions): Predicate {
  const test = compileCondition(condition, options)
  const parts = path.split('.')
  const index = isIndex(parts.at(-1) ?? '') ? Number(parts.at(-1)) : undefined
  return (document) => {
    const values = valuesAt(document, parts)
    const lists = values.filter(Array.isArray)
    if (lists.length === 0 || index === undefined) return test(values, lists)
    const holders = valuesAt(document, parts.slice(0, -1)).filter(Array.isArray)
    const items = new Set(holders.map((holder) => holder[index]))
    return test(
      values,
      lists.filter((list) => !items.has(list)),
    )
  }
}

/** A plain value means equality, a regular expression a match, `{ $… }` operators. */
function compileCondition(condition: unknown, options: FilterOptions): FieldTest {
  if (isOperators(condition)) return compileOperators(condition, options)
  return isRegex(condition)
    ? anyValue(toRegexTest(condition))
    : anyValue((value) => isEqual(value, condition, options.collation))
}

function compileOperators(operators: Document, options: FilterOptions): FieldTest {
  const tests = Object.entries(operators).map(([name, operand]) => {
    const operator = FIELD_OPERATORS.get(name)
    if (operator === undefined) throw unknownOperator(`unknown operator: ${name}`)
    return operator(operand, options, operators)
  })
  return (values, lists) => tests.every((test) => test(values, lists))
}

function compileLogical(name: string, operand: unknown, options: FilterOptions): Predicate {
  const logical = LOGICAL_OPERATORS.get(name)
  if (logical === undefined) throw unknownOperator(`unknown top level operator: ${name}`)
  return logical(operand, options, name)
}

function unknownOperator(what: string): CommandError {
  return new CommandError(2, `${what}: it is not supported by the embedded server`)
}

/** Returns an operator of a whole filter as a function. */
type LogicalOperator = (operand: unknown, options: FilterOptions, name: string) => Predicate

/** All operators that a filter may have at its top. */
export const LOGICAL_OPERATORS: ReadonlyMap<string, LogicalOperator> = new Map<
  string,
  LogicalOperator
>([
  ['$and', combine((document, tests) => tests.every((test) => test(document)))],
  ['$or', combine((document, tests) => tests.some((test) => test(document)))],
  ['$nor', combine((document, tests) => !tests.some((test) => test(document)))],
  ['$comment', () => () => true],
  [
    '$text',
    (_operand, { text }) => {
      if (text !== undefined) return text.matches
      throw new CommandError(2, '$text can only be applied to the top-level document')
    },
  ],
  [
    '$expr',
    (operand, { compileExpression }) => {
      const evaluate = compileExpression(operand)
      return (document) => isTrue(evaluate(document))
    },
  ],
])

function combine(
  join: (document: Document, tests: readonly Predicate[]) => boolean,
): LogicalOperator {
  return (operand, options, name) => {
    if (!Array.isArray(operand) || operand.length === 0) {
      throw new CommandError(2, `${name} must be a nonempty array`)
    }
    if (!operand.every(isDocument)) {
      throw new CommandError(2, `${name} entries need to be full objects`)
    }
    const tests = operand.map((filter) => compileFilter(filter, options))
    return (document) => join(document, tests)
  }
}

/** All operators that a filter may have on a field. */
export const FIELD_OPERATORS: ReadonlyMap<string, FieldOperator> = new Map<string, FieldOperator>([
  ['$eq', (operand, { collation }) => anyValue((value) => isEqual(value, operand, collation))],
  ['$ne', (operand, options) => not(compileOperators({ $eq: checkNotRegex(operand) }, options))],
  ['$gt', ordered((order) => order > 0, false)],
  ['$gte', ordered((order) => order >= 0, true)],
  ['$lt', ordered((order) => order < 0, false)],
  ['$lte', ordered((order) => order <= 0, true)],
  ['$in', (operand, options) => anyValue(toListTest('$in', operand, options))],
  ['$nin', (operand, options) => not(anyValue(toListTest('$nin', operand, options)))],
  ['$not', (operand, options) => not(compileNegated(operand, options))],
  [
    '$exists',
    (operand) => (values) => values.some((value) => value !== undefined) === isTrue(operand),
  ],
  ['$type', (operand) => anyValue(toTypeTest(operand))],
  ['$size', (operand) => someValue(toSizeTest(operand))],
  ['$mod', (operand) => anyValue(toModTest(operand))],
  ['$all', compileAll],
  ['$elemMatch', compileElemMatch],
  ['$regex', (operand, _options, { $options }) => anyValue(toRegexTest(operand, $options))],
  ['$options', (_operand, _options, siblings) => checkHasRegex(siblings)],
])

/** Returns whether operators apply to a whole filter, such as `$or`, rather than to a field. */
export function isLogical(operators: Document): boolean {
  return LOGICAL_OPERATORS.has(Object.keys(operators)[0] ?? '')
}

/** Returns whether a filter's condition consists of operators, rather than a value to equal. */
export function isOperators(condition: unknown): condition is Document {
  if (!isDocument(condition)) return false
  // A DBRef is a value although its fields start with a dollar.
  return startsWithOperator(condition) && !('$ref' in condition && '$id' in condition)
}

const someValue =
  (test: ValueTest): FieldTest =>
  (values) =>
    values.some(test)

/** Most operators match an array if they match one of its items or the array as a whole. */
const anyValue =
  (test: ValueTest): FieldTest =>
  (values, lists) =>
    values.some(test) || lists.some((list) => list.some(test))

const not =
  (test: FieldTest): FieldTest =>
  (values, lists) =>
    !test(values, lists)

function ordered(accept: (order: number) => boolean, orEqual: boolean): FieldOperator {
  return (operand, { collation }) => {
    const type = typeOrderOf(checkNotRegex(operand))
    const anyType = type === TYPE_ORDER.minKey || type === TYPE_ORDER.maxKey
    const operandIsNan = isEqual(operand, Number.NaN)
    return anyValue((value) => {
      if (!anyType && typeOrderOf(value) !== type) return false
      const order = compareValues(value, operand, collation)
      if (order === 0) return orEqual
      // NaN is neither above nor below a number, whatever its place when sorting.
      return accept(order) && !operandIsNan && (anyType || !isEqual(value, Number.NaN))
    })
  }
}

function toListTest(name: string, operand: unknown, { collation }: FilterOptions): ValueTest {
  if (!Array.isArray(operand)) throw new CommandError(2, `${name} needs an array`)
  if (operand.some(isOperators)) throw new CommandError(2, `cannot nest $ under ${name}`)
  const patterns = operand.filter(isRegex).map((pattern) => toRegexTest(pattern))
  const isListed = toListed(operand, collation)
  if (patterns.length === 0) return isListed
  return (value) => isListed(value) || patterns.some((test) => test(value))
}

function compileNegated(operand: unknown, options: FilterOptions): FieldTest {
  if (isRegex(operand) || isOperators(operand)) return compileCondition(operand, options)
  throw new CommandError(2, '$not needs a regex or a document')
}

function compileAll(operand: unknown, options: FilterOptions): FieldTest {
  if (!Array.isArray(operand)) throw new CommandError(2, '$all needs an array')
  const [isElemMatch, ...others] = operand.map((item) => {
    if (!isOperators(item)) return false
    if (Object.keys(item)[0] === '$elemMatch') return true
    throw new CommandError(2, 'no $ expressions in $all')
  })
  if (others.some((other) => other !== isElemMatch)) {
    throw new CommandError(2, '$all/$elemMatch has to be consistent')
  }
  const tests = operand.map((item) => compileCondition(item, options))
  return (values, lists) => tests.length > 0 && tests.every((test) => test(values, lists))
}

function compileElemMatch(operand: unknown, options: FilterOptions): FieldTest {
  if (!isDocument(operand)) throw new CommandError(2, '$elemMatch needs an Object')
  const test = compileItem(operand, options)
  return someValue((value) => Array.isArray(value) && value.some(test))
}

function checkNotRegex(operand: unknown): unknown {
  if (isRegex(operand)) throw new CommandError(2, "Can't have RegEx as arg to $ne or a range")
  return operand
}

function checkHasRegex(siblings: Document): FieldTest {
  if (!('$regex' in siblings)) throw new CommandError(2, '$options needs a $regex')
  return () => true
}

/**
 * Returns an expression as a function of a document. Passed to filters and projections, because the
 * expression compiler itself depends on filters.
 * @throws {CommandError} the expression is not valid
 */
export type CompileExpression = (expression: unknown) => (document: Document) => unknown
