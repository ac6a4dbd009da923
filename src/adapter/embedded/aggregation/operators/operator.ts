import type { Document } from 'bson'
import { Decimal128, Long } from 'bson'
import { isNullish, isNumeric, typeNameOf } from '../../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../../matching/command-error.ts'
import type { Collation } from '../../../matching/compare.ts'

/** The variables an expression sees, the innermost first. */
export interface Bindings {
  readonly name: string
  readonly value: unknown
  readonly next: Bindings | undefined
}

/** An expression as a function of a document; `undefined` is a missing value. */
export type Evaluate = (root: Document, bindings: Bindings | undefined) => unknown

/** What an expression is compiled with. */
export interface Scope {
  readonly collation: Collation | undefined
  /** The names of the variables that the expression may use. */
  readonly names: ReadonlySet<string>
}

/** Returns an expression as a function. @throws {CommandError} the expression is not valid */
export type Compile = (expression: unknown, scope: Scope) => Evaluate

/** Returns an operator's value from those of its arguments. */
export type Compute = (values: readonly unknown[], collation: Collation | undefined) => unknown

/** One operator of expressions: its arguments, and how it evaluates. */
export interface Operator {
  /** How many arguments it takes in an array; a single one may be given without the array. */
  readonly count?: readonly [least: number, most: number]
  /** The names of the arguments it takes in a document; `?` marks an optional one. */
  readonly names?: readonly string[]
  /** Whether its operand is its only argument, even if it is an array or a document. */
  readonly isRaw?: boolean
  readonly compute?: Compute
  /** Replaces `compute` if an argument may be evaluated never or more than once. */
  readonly build?: (operands: readonly unknown[], scope: Scope, compile: Compile) => Evaluate
}

/** Operators by name. */
export type Operators = Readonly<Record<string, Operator>>

/** Returns an operator of `least` to `most` arguments. All are evaluated. */
export function positional(least: number, most: number, compute: Compute): Operator {
  return { count: [least, most], compute }
}

/** Returns an operator that takes its arguments by name; all of them are evaluated. */
export function named(names: readonly string[], compute: Compute): Operator {
  return { names, compute }
}

/** Returns the same operator with the result null if an argument is null or missing. */
export function orNull(operator: Operator): Operator {
  const { compute, count } = operator
  return {
    ...operator,
    compute: (values, collation) => {
      const at = values.findIndex(isNullish)
      if (at < 0) return compute?.(values, collation)
      // With any number of arguments, those before it are checked first.
      if (count?.[1] === Number.POSITIVE_INFINITY) compute?.(values.slice(0, at), collation)
      return null
    },
  }
}

/** @throws {CommandError} `code` the value is not an array */
export function checkArray(name: string, value: unknown, code: number): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new CommandError(code, `${name} requires an array, not ${typeNameOf(value)}`)
}

/** @throws {CommandError} `code` the value is not a string */
export function checkString(name: string, value: unknown, code: number): string {
  if (typeof value === 'string') return value
  throw new CommandError(code, `${name} requires a string, not ${typeNameOf(value)}`)
}

/**
 * Returns a whole number of 32 bits.
 * @throws {CommandError} `code` the value is not a number; the next code: it is not a whole number of 32 bits
 */
export function checkInteger(name: string, value: unknown, code: number): number {
  const number = toSafe(value)
  if (typeof number === 'number' && number === (number | 0)) return number
  const message = `${name} requires a whole number of 32 bits, not ${String(value)}`
  throw new CommandError(isNumeric(value) ? code + 1 : code, message)
}

/** Returns a value that is valid. @throws {CommandError} `code` it is not */
export function checkDomain(value: number, isValid: boolean, code: number, rule: string): number {
  if (isValid) return value
  throw new CommandError(code, rule)
}

/** @throws {CommandError} `code` the value is not a number, 2 JavaScript cannot compute with it */
export function checkNumber(name: string, value: unknown, code: number): number {
  const number = toSafe(value)
  if (typeof number === 'number') return number
  if (value instanceof Decimal128 || value instanceof Long) {
    throw notSupported(`${name} with Decimal128 or a long beyond 2^53`)
  }
  throw new CommandError(code, `${name} only supports numeric types, not ${typeNameOf(value)}`)
}

/** Returns a long up to 2^53, such as a depth of `$graphLookup`, as a number. */
function toSafe(value: unknown): unknown {
  return value instanceof Long && Number.isSafeInteger(value.toNumber()) ? value.toNumber() : value
}
