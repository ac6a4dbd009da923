import type { Document } from 'bson'
import type { Collation } from './collation.ts'
import { compareValues, isDocument, isEqual, keyOf, TYPE_ORDER, typeOrderOf } from './compare.ts'
import { CommandError, notSupported } from './errors.ts'
import { valuesAt } from './paths.ts'
import { isRegex } from './regular-expression.ts'
import { toTypeTest } from './type-names.ts'
import type { ValueTest } from './value-tests.ts'
import { toModTest, toRegexTest, toSizeTest } from './value-tests.ts'

/** What a filter needs beside itself. */
export interface MatchOptions {
  readonly collation: Collation | undefined
  /** Returns the value of an aggregation expression, for `$expr`. */
  readonly evaluate: (document: Document, expression: unknown) => unknown
}

/** Returns whether a document matches. */
export type Predicate = (document: Document) => boolean

/** Returns whether the values that a path reaches match: negations need to see all of them. */
type FieldTest = (values: readonly unknown[]) => boolean
type Operator = (operand: unknown, options: MatchOptions, siblings: Document) => FieldTest

const REFUSED: ReadonlyMap<string, number> = new Map([
  ['$where', 2],
  ['$function', 2],
  ['$jsonSchema', 2],
  ['$text', 27],
  ['$near', 2],
  ['$nearSphere', 2],
  ['$geoWithin', 2],
  ['$geoIntersects', 2],
  ['$bitsAllSet', 2],
  ['$bitsAllClear', 2],
  ['$bitsAnySet', 2],
  ['$bitsAnyClear', 2],
])

/** Returns a filter as a function. @throws {CommandError} the filter is not valid */
export function compileFilter(filter: unknown, options: MatchOptions): Predicate {
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

/** Returns the condition of one array item: operators on the item, or a filter over its fields. */
export function compileItem(condition: unknown, options: MatchOptions): ValueTest {
  if (isOperators(condition) && !LOGICAL.has(Object.keys(condition)[0] ?? '')) {
    const test = compileOperators(condition, options)
    return (item) => test([item])
  }
  const matches = compileFilter(condition, options)
  // An array inside the array is searched like a document whose fields are its indexes.
  return (item) => (isDocument(item) || Array.isArray(item)) && matches(item as Document)
}

function compileField(path: string, condition: unknown, options: MatchOptions): Predicate {
  const test = compileCondition(condition, options)
  const parts = path.split('.')
  return (document) => test(valuesAt(document, parts))
}

/** A plain value means equality, a regular expression a match, `{ $… }` operators. */
function compileCondition(condition: unknown, options: MatchOptions): FieldTest {
  if (isOperators(condition)) return compileOperators(condition, options)
  return isRegex(condition)
    ? anyValue(toRegexTest(condition))
    : anyValue((value) => isEqual(value, condition, options.collation))
}

function compileOperators(operators: Document, options: MatchOptions): FieldTest {
  const tests = Object.entries(operators).map(([name, operand]) => {
    refuse(name)
    const operator = OPERATORS.get(name)
    if (operator === undefined) throw new CommandError(2, `unknown operator: ${name}`)
    return operator(operand, options, operators)
  })
  return (values) => tests.every((test) => test(values))
}

function compileLogical(name: string, operand: unknown, options: MatchOptions): Predicate {
  refuse(name)
  const logical = LOGICAL.get(name)
  if (logical === undefined) throw new CommandError(2, `unknown top level operator: ${name}`)
  return logical(operand, options, name)
}

function refuse(name: string): void {
  const code = REFUSED.get(name)
  if (code !== undefined) throw notSupported(name, code)
}

type Logical = (operand: unknown, options: MatchOptions, name: string) => Predicate

const LOGICAL: ReadonlyMap<string, Logical> = new Map<string, Logical>([
  ['$and', combine((document, tests) => tests.every((test) => test(document)))],
  ['$or', combine((document, tests) => tests.some((test) => test(document)))],
  ['$nor', combine((document, tests) => !tests.some((test) => test(document)))],
  ['$comment', () => () => true],
  [
    '$expr',
    (operand, { evaluate }) =>
      (document) =>
        isTrue(evaluate(document, operand)),
  ],
])

function combine(join: (document: Document, tests: readonly Predicate[]) => boolean): Logical {
  return (operand, options, name) => {
    if (!Array.isArray(operand) || operand.length === 0) {
      throw new CommandError(2, `${name} must be a nonempty array`)
    }
    const tests = operand.map((filter) => compileFilter(filter, options))
    return (document) => join(document, tests)
  }
}

/** Returns whether a value counts as true in an expression. */
export function isTrue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && !isEqual(value, 0)
}

const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
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

/** Returns whether a filter's condition is operators and not a value to be equal to. */
export function isOperators(condition: unknown): condition is Document {
  if (!isDocument(condition)) return false
  const first = Object.keys(condition)[0]
  // A DBRef is a value although its fields start with a dollar.
  return first?.startsWith('$') === true && first !== '$ref' && first !== '$id'
}

const someValue =
  (test: ValueTest): FieldTest =>
  (values) =>
    values.some(test)

/** Most operators hold for an array where they hold for one of its items or for it as a whole. */
const anyValue = (test: ValueTest): FieldTest =>
  someValue((value) => test(value) || (Array.isArray(value) && value.some(test)))

const not =
  (test: FieldTest): FieldTest =>
  (values) =>
    !test(values)

function ordered(accept: (order: number) => boolean, orEqual: boolean): Operator {
  return (operand, { collation }) => {
    const type = typeOrderOf(operand)
    const anyType = type === TYPE_ORDER.minKey || type === TYPE_ORDER.maxKey
    const operandIsNan = Number.isNaN(operand)
    return anyValue((value) => {
      if (!anyType && typeOrderOf(value) !== type) return false
      // NaN is neither above nor below anything, whatever its place when sorting.
      if (operandIsNan || Number.isNaN(value)) {
        return orEqual && operandIsNan && Number.isNaN(value)
      }
      return accept(compareValues(value, operand, collation))
    })
  }
}

function toListTest(name: string, operand: unknown, { collation }: MatchOptions): ValueTest {
  if (!Array.isArray(operand)) throw new CommandError(2, `${name} needs an array`)
  if (operand.some(isOperators)) throw new CommandError(2, `cannot nest $ under ${name}`)
  const keys = new Set(operand.map((item) => keyOf(item, collation)))
  const patterns = operand.filter(isRegex).map((pattern) => toRegexTest(pattern))
  return (value) => keys.has(keyOf(value, collation)) || patterns.some((test) => test(value))
}

function compileNegated(operand: unknown, options: MatchOptions): FieldTest {
  if (isRegex(operand) || isOperators(operand)) return compileCondition(operand, options)
  throw new CommandError(2, '$not needs a regex or a document')
}

function compileAll(operand: unknown, options: MatchOptions): FieldTest {
  if (!Array.isArray(operand)) throw new CommandError(2, '$all needs an array')
  const tests = operand.map((item) => {
    if (isOperators(item) && Object.keys(item)[0] !== '$elemMatch') {
      throw new CommandError(2, 'no $ expressions in $all')
    }
    return compileCondition(item, options)
  })
  return (values) => tests.length > 0 && tests.every((test) => test(values))
}

function compileElemMatch(operand: unknown, options: MatchOptions): FieldTest {
  if (!isDocument(operand)) throw new CommandError(2, '$elemMatch needs an Object')
  const test = compileItem(operand, options)
  return someValue((value) => Array.isArray(value) && value.some(test))
}

function checkNotRegex(operand: unknown): unknown {
  if (isRegex(operand)) throw new CommandError(2, "Can't have regex as arg to $ne.")
  return operand
}

function checkHasRegex(siblings: Document): FieldTest {
  if (!('$regex' in siblings)) throw new CommandError(2, '$options needs a $regex')
  return () => true
}
