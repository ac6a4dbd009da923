import type { Document } from 'bson'
import { Decimal128, Long } from 'bson'
import { CommandError, notSupported } from '../../errors/command-error.ts'
import { isDocument } from '../../values/bson-type.ts'
import type { Collation } from '../../values/collation.ts'
import { typeNameOf } from '../../values/type-names.ts'

/** The variables an expression sees, the innermost first. */
export interface Bindings {
  readonly name: string
  readonly value: unknown
  readonly next: Bindings | undefined
}

/** An expression as a function of a document; `undefined` stands for a missing value. */
export type Evaluate = (root: Document, bindings: Bindings | undefined) => unknown

/** What is known of an expression's surroundings before there is a document. */
export interface Scope {
  readonly collation: Collation | undefined
  /** The names of the variables that the expression may use. */
  readonly names: ReadonlySet<string>
}

/** Returns an expression as a function. @throws {CommandError} the expression is not valid */
export type Compile = (expression: unknown, scope: Scope) => Evaluate

/** Returns an operator's value from those of its arguments. */
export type Compute = (values: readonly unknown[], collation: Collation | undefined) => unknown

/** One operator of expressions: the arguments it takes, and what it makes of them. */
export interface Operator {
  /** The least and the most number of arguments in an array; one may stand without the array. */
  readonly count?: readonly [least: number, most: number]
  /** The names of the arguments in a document; `?` ends that of an optional one. */
  readonly names?: readonly string[]
  /** Whether its operand is one, whatever it is. */
  readonly isRaw?: boolean
  readonly compute?: Compute
  /** In place of `compute` where an argument is not always, or more than once, evaluated. */
  readonly build?: (operands: readonly unknown[], scope: Scope, compile: Compile) => Evaluate
}

/** Operators by name. */
export type Operators = Readonly<Record<string, Operator>>

/** Returns an operator of `least` to `most` arguments, all of which are evaluated. */
export function positional(least: number, most: number, compute: Compute): Operator {
  return { count: [least, most], compute }
}

/** Returns an operator whose arguments stand in a document by these names. */
export function named(names: readonly string[], compute: Compute): Operator {
  return { names, compute }
}

/** Returns the same operator, which is null where one of its values is null or missing. */
export function orNull(operator: Operator): Operator {
  const { compute } = operator
  return {
    ...operator,
    compute: (values, collation) => (values.some(isNullish) ? null : compute?.(values, collation)),
  }
}

/** Returns the operands of an operator in its own order. @throws {CommandError} they do not fit */
export function readOperands(name: string, operand: unknown, operator: Operator): unknown[] {
  const { names, count, isRaw = false } = operator
  if (isRaw) return [operand]
  const isNamed = isDocument(operand) && Object.keys(operand)[0]?.startsWith('$') !== true
  if (names !== undefined && isNamed) return readNamed(name, operand, names)
  if (count === undefined) throw new CommandError(9, `${name} takes an object of arguments`)
  const operands = toList(operand, count)
  const [least, most] = count
  if (operands.length >= least && operands.length <= most) return operands
  const wanted = least === most ? `exactly ${least}` : `${least} to ${most}`
  throw new CommandError(
    16020,
    `Expression ${name} takes ${wanted} arguments. ${operands.length} were passed in.`,
  )
}

function toList(operand: unknown, [, most]: readonly [number, number]): unknown[] {
  if (Array.isArray(operand)) return operand
  return most === 0 && isDocument(operand) && Object.keys(operand).length === 0 ? [] : [operand]
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

/** Returns whether a value is null or missing. */
export function isNullish(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

/** @throws {CommandError} `code` the value is no array */
export function checkArray(name: string, value: unknown, code: number): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new CommandError(code, `${name} requires an array, not ${typeNameOf(value)}`)
}

/** @throws {CommandError} `code` the value is no string */
export function checkString(name: string, value: unknown, code: number): string {
  if (typeof value === 'string') return value
  throw new CommandError(code, `${name} requires a string, not ${typeNameOf(value)}`)
}

/** @throws {CommandError} `code` the value is no whole number of at least `least` */
export function checkInteger(
  name: string,
  value: unknown,
  code: number,
  least: number = Number.NEGATIVE_INFINITY,
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least) return value
  throw new CommandError(code, `${name} requires a whole number, not ${String(value)}`)
}

/** @throws {CommandError} the value is no number, or one that JavaScript cannot compute with */
export function checkNumber(name: string, value: unknown): number {
  if (typeof value === 'number') return value
  if (value instanceof Decimal128 || value instanceof Long) {
    throw notSupported(`${name} with Decimal128 or a long beyond 2^53`)
  }
  throw new CommandError(28765, `${name} only supports numeric types, not ${typeNameOf(value)}`)
}
