import { ObjectId } from 'bson'
import { CommandError, notSupported } from '../../errors/command-error.ts'
import { bsonTagOf } from '../../values/bson-type.ts'
import { typeNameOf } from '../../values/type-names.ts'

const DATE =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?\s*(?:Z|([+-])(\d{2}):?(\d{2})?)?)?$/

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

/** Returns a date from ISO 8601, in UTC where no offset is given. @throws {CommandError} 241 */
export function parseDate(text: string): Date {
  const parts = DATE.exec(text)
  if (parts === null) {
    // MongoDB knows many more ways to write a date, all of them with a digit.
    if (/\d/.test(text)) throw notSupported(`A date written as '${text}'`)
    throw conversionFailed(text, 'date')
  }
  const [, day, time = '00:00', seconds = '00', fraction = '', sign, hours, minutes = '00'] = parts
  const iso = `${day}T${time}:${seconds}.${fraction.padEnd(3, '0')}`
  const offset = sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`
  const written = new Date(`${iso}Z`)
  const date = new Date(`${iso}${offset}`)
  // A day or an hour that does not exist would be moved to the next one.
  if (Number.isNaN(date.getTime()) || written.toISOString() !== `${iso}Z`) {
    throw conversionFailed(text, 'date')
  }
  return date
}

/** Returns an ObjectId from its 24 hexadecimal digits. @throws {CommandError} 241 */
export function parseObjectId(text: string): ObjectId {
  if (/^[0-9a-f]{24}$/i.test(text)) return new ObjectId(text)
  throw conversionFailed(text, 'objectId')
}

/** Returns the error of a value that cannot be converted. */
export function conversionFailed(value: unknown, type: string): CommandError {
  const what = typeof value === 'string' ? `'${value}'` : `a value of type ${typeNameOf(value)}`
  return new CommandError(
    241,
    `Failed to convert ${what} to ${type} in $convert with no onError value`,
  )
}
