import { Decimal128, Long } from 'bson'
import { CommandError, notSupported } from '../../errors/command-error.ts'
import { typeNameOf } from '../../values/type-names.ts'

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

/** @throws {CommandError} `code` the value is not a whole number of at least `least` */
export function checkInteger(
  name: string,
  value: unknown,
  code: number,
  least: number = Number.NEGATIVE_INFINITY,
): number {
  const number = toSafe(value)
  if (typeof number === 'number' && Number.isInteger(number) && number >= least) return number
  throw new CommandError(code, `${name} requires a whole number, not ${String(value)}`)
}

/** @throws {CommandError} 28765 the value is no number, 2 JavaScript cannot compute with it */
export function checkNumber(name: string, value: unknown): number {
  const number = toSafe(value)
  if (typeof number === 'number') return number
  if (value instanceof Decimal128 || value instanceof Long) {
    throw notSupported(`${name} with Decimal128 or a long beyond 2^53`)
  }
  throw new CommandError(28765, `${name} only supports numeric types, not ${typeNameOf(value)}`)
}

/** Returns a long up to 2^53, such as a depth of `$graphLookup`, as the number that it is. */
function toSafe(value: unknown): unknown {
  return value instanceof Long && Number.isSafeInteger(value.toNumber()) ? value.toNumber() : value
}
