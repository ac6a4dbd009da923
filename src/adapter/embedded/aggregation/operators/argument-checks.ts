import { Decimal128, Long } from 'bson'
import { CommandError, notSupported } from '../../errors/command-error.ts'
import { typeNameOf } from '../../values/type-names.ts'

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
