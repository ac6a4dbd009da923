import { CommandError, notSupported } from '../../errors/command-error.ts'
import { bsonTagOf } from '../../values/bson-type.ts'
import { typeNameOf } from '../../values/type-names.ts'

/** Returns a value as MongoDB's string for it. @throws {CommandError} `code` there is none */
export function toMongoString(value: unknown, code = 241): string {
  if (value instanceof Date) return value.toISOString()
  const isConvertible =
    typeof value !== 'object' ||
    ['ObjectId', 'Long', 'Decimal128'].includes(bsonTagOf(value ?? {}) ?? '')
  if (!isConvertible) {
    throw new CommandError(code, `Unsupported conversion from ${typeNameOf(value)} to string`)
  }
  const text = String(value)
  // MongoDB and JavaScript write exponents differently.
  if (typeof value === 'number' && /\de/.test(text))
    throw notSupported(`Converting ${text} to a string`)
  return text
}
