import { CommandError, notSupported } from '../../errors/command-error.ts'
import { bsonTagOf } from '../../values/bson-type.ts'
import { typeNameOf } from '../../values/type-names.ts'

/** Returns a value as the string MongoDB writes. @throws {CommandError} `code` it has none */
export function toText(value: unknown, code = 241): string {
  if (value instanceof Date) return value.toISOString()
  const isText =
    typeof value !== 'object' ||
    ['ObjectId', 'Long', 'Decimal128'].includes(bsonTagOf(value ?? {}) ?? '')
  if (!isText) {
    throw new CommandError(code, `Unsupported conversion from ${typeNameOf(value)} to string`)
  }
  const text = String(value)
  // JavaScript and MongoDB write exponents in different ways.
  if (typeof value === 'number' && /\de/.test(text)) throw notSupported(`${text} as a string`)
  return text
}
